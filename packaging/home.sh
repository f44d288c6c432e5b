# shellcheck shell=bash disable=SC2034
# Where the project lives, for the recipes and the SBOM. It has no public address yet: whoever publishes it writes the
# address here. An address in .invalid leads nowhere, on purpose.
home=https://fovea.invalid
archive_address() { # version
  echo "$home/releases/download/v$1/fovea-$1.tar.gz"
}
