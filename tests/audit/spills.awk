# Reads what objdump says of one object and looks at its innermost loops; see spills.sh.
#   name    the object's
#   limit   uses of the stack that one turn of a loop may have; empty: one for each eight operations
#   wanted  1 where there must be such loops

function hex(text, i, value) {
  for (i = 1; i <= length(text); i++) value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
  return value
}

function uses_stack(line) {
  return line ~ vector && (line ~ /[(]%rsp|\[sp/ || (framed && line ~ /-0x[0-9a-f]+[(]%rbp|\[x29/))
}

# From a jump's target to the jump.
function look_at_loop(start, end, k, operations, uses, example) {
  for (k = start; k <= end; k++) {
    if (k < end && (k in jump) && jump[k] < address[k] && jump[k] >= address[start]) return # has another within
    if (text[k] ~ operation) operations++
    if (uses_stack(text[k])) {
      uses++
      example = text[k]
    }
  }
  if (operations < 8) return
  loops++
  if (show && uses) printf "%s %s %d operations, the stack %d times\n", name, function_name, operations, uses
  if (limit == "" ? uses * 8 > operations : uses > limit) {
    printf "%s: %s a loop of %d operations uses the stack %d times: %s\n", name, function_name, operations, uses, example
    bad = 1
  }
}

function finish_function(i, start) {
  for (i = 1; i <= count; i++) {
    if (!(i in jump) || jump[i] > address[i]) continue
    start = i
    while (start > 1 && address[start] > jump[i]) start--
    look_at_loop(start, i)
  }
  split("", jump)
  count = framed = 0
}

BEGIN {
  operation = "vfn?m(add|sub)[0-9]+ps|v(add|sub|mul|div|max|min|dpbf16|scalef|rndscale|cvtph2)[a-z0-9]*ps"
  operation = operation "|fml[as]l?|bfmlal|f(add|sub|mul|div|max|min|cvt)[a-z]*[ \t]+v"
  vector = "%[yz]mm|[ \t,{]q[0-9]"
}

/^[0-9a-f]+ <.*>:$/ {
  finish_function()
  function_name = $2
  functions++
}

/^ *[0-9a-f]+:/ {
  count++
  address[count] = hex(substr($1, 1, length($1) - 1))
  text[count] = $0
  if ($0 ~ /mov +%rsp,%rbp|mov\tx29, sp/) framed = 1
  if ($2 ~ /^(j|b\.|cbn?z|tbn?z|b$)/ && $0 !~ /\*/) {
    target = $0
    sub(/ *<.*$/, "", target)
    sub(/^.*[ ,\t](0x)?/, "", target)
    jump[count] = hex(target)
  }
}

END {
  finish_function()
  if (wanted && functions && !loops) { # without functions it is for another architecture
    print name ": no such loop was found"
    bad = 1
  }
  exit bad
}
