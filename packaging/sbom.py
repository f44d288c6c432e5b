#!/usr/bin/env python3
"""Writes a bill of materials (SBOM) of a release, as SPDX 2.3 in JSON: the source archive, the Debian packages that are
made from it, and what these need from a system.

    sbom.py --version V --epoch SECONDS --home ADDRESS --address OF_ARCHIVE <archive> <package.deb>...
"""

import argparse
import datetime
import hashlib
import json
import pathlib
import re
import subprocess

LICENCES = "MIT AND Apache-2.0 AND CC-BY-4.0"  # README.md says what is under which
COPYRIGHT = "Copyright (c) 2026 The Fovea authors"
AUTHORS = "Organization: The Fovea authors"


def main():
    parser = argparse.ArgumentParser()
    for option in ("--version", "--epoch", "--home", "--address"):
        parser.add_argument(option, required=True)
    parser.add_argument("archive", type=pathlib.Path)
    parser.add_argument("packages", type=pathlib.Path, nargs="*")
    arguments = parser.parse_args()
    print(json.dumps(document(arguments), indent=1))


def document(arguments):
    known = not arguments.home.endswith(".invalid")
    source = {
        **package("Source", "fovea", arguments.version, arguments.archive, LICENCES),
        "primaryPackagePurpose": "SOURCE",
        "downloadLocation": arguments.address if known else "NOASSERTION",
        "description": "Attention kernels for CPUs, with one answer",
    }
    if known:
        source["homepage"] = arguments.home
    fields = [control(path) for path in arguments.packages]
    made = [binary(field, path) for field, path in zip(fields, arguments.packages)]
    own = {(field["Package"], field["Architecture"]): one["SPDXID"] for field, one in zip(fields, made)}
    needed, relations = {}, [relation("SPDXRef-DOCUMENT", "DESCRIBES", source["SPDXID"])]
    for field, one in zip(fields, made):
        relations.append(relation("SPDXRef-DOCUMENT", "DESCRIBES", one["SPDXID"]))
        relations.append(relation(one["SPDXID"], "GENERATED_FROM", source["SPDXID"]))
        for name in re.findall(r"(?:^|, )([a-z0-9.+-]+)", field.get("Depends", "")):
            target = own.get((name, field["Architecture"]))
            if not target:
                target = needed.setdefault(name, of_the_system(name))["SPDXID"]
            relations.append(relation(one["SPDXID"], "DEPENDS_ON", target))
    digest = hashlib.sha256("".join(one["checksums"][0]["checksumValue"] for one in [source, *made]).encode()).hexdigest()
    created = datetime.datetime.fromtimestamp(int(arguments.epoch), datetime.timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"fovea-{arguments.version}",
        "documentNamespace": f"{arguments.home}/spdx/fovea-{arguments.version}-{digest[:16]}",
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [AUTHORS, f"Tool: fovea-sbom-{arguments.version}"],
        },
        "packages": [source, *made, *needed.values()],
        "relationships": relations,
    }


def identity(name):
    """Identifiers have no other characters."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(element, name, version, path, licences):
    return {
        "SPDXID": f"SPDXRef-{element}",
        "name": name,
        "versionInfo": version,
        "packageFileName": path.name,
        "supplier": AUTHORS,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licences,
        "licenseDeclared": licences,
        "copyrightText": COPYRIGHT,
        "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(path.read_bytes()).hexdigest()}],
    }


def binary(field, path):
    """A Debian package. It has only what is under the licence of the project."""
    return {
        **package(identity(f"{field['Package']}-{field['Architecture']}"), field["Package"], field["Version"], path, "MIT"),
        "primaryPackagePurpose": "INSTALL" if field["Package"] == "fovea" else "LIBRARY",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/{field['Package']}@{field['Version']}?arch={field['Architecture']}",
        }],
    }


def of_the_system(name):
    return {
        "SPDXID": f"SPDXRef-{identity('system-' + name)}",
        "name": name,
        "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "comment": "Comes with the system, and is not part of the release.",
    }


def relation(element, kind, other):
    return {"spdxElementId": element, "relationshipType": kind, "relatedSpdxElement": other}


def control(path):
    """The fields of a Debian package."""
    text = subprocess.run(["dpkg-deb", "-f", path], capture_output=True, check=True, encoding="utf-8").stdout
    return dict(re.findall(r"^([A-Za-z-]+): (.*)$", text, re.MULTILINE))


if __name__ == "__main__":
    main()
