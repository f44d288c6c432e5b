#!/bin/bash
# The loops that do the work keep their vectors in registers: an innermost loop with eight or more fused multiply-adds
# of vectors uses vectors on the stack at most once for every eight of them.
#   spills.sh <objdump> <object>...
set -e -u -o pipefail
objdump=$1
shift
status=0

for object in "$@"; do
  case $object in
    */arch/scalar/*) continue ;;
    */score.c.o | */value.c.o) ;;
    *) continue ;;
  esac
  $objdump -d --no-show-raw-insn "$object" | awk -v object="$object" '
    function hex(text, i, value) {
      for (i = 1; i <= length(text); i++) value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
      return value
    }
    # Within a function: the address and text of each instruction.
    function finish(i, k, start, inner, fma, spill) {
      for (i = 1; i <= count; i++) {
        if (!(i in jump) || jump[i] > address[i]) continue
        start = i
        while (start > 1 && address[start] > jump[i]) start--
        inner = 1
        fma = spill = 0
        for (k = start; k <= i; k++) {
          if (k < i && (k in jump) && jump[k] < address[k] && jump[k] >= address[start]) inner = 0
          if (text[k] ~ /vfn?madd[0-9]+ps|fmla/) fma++
          if (text[k] ~ /[(]%rsp|\[sp/ && text[k] ~ /%[yz]mm|[ \t,]q[0-9]/) {
            spill++
            example = text[k]
          }
        }
        if (!inner || fma < 8) continue
        loops++
        if (spill * 8 > fma) {
          printf "%s: %s a loop of %d multiply-adds uses the stack %d times: %s\n", object, name, fma, spill, example
          bad = 1
        }
      }
      split("", jump)
      count = 0
    }
    /^[0-9a-f]+ <.*>:$/ { finish(); name = $2; functions++ }
    /^ *[0-9a-f]+:/ {
      count++
      address[count] = hex(substr($1, 1, length($1) - 1))
      text[count] = $0
      if ($2 ~ /^(j|b\.|cbn?z|tbn?z|b$)/ && $0 !~ /\*/) {
        target = $0
        sub(/ *<.*$/, "", target)
        sub(/^.*[ ,\t](0x)?/, "", target)
        jump[count] = hex(target)
      }
    }
    END {
      finish()
      if (functions && !loops) { # without functions it is for another architecture
        print object ": no such loop was found"
        bad = 1
      }
      exit bad
    }' || status=1
done
exit $status
