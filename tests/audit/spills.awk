# Reads what objdump says of one object and looks at its innermost loops; see spills.sh.
#   isa       the object's instruction set
#   group     of the object's kernels; empty: the core, or a table of its own
#   compiler  with its version
#   of_nn     1: an object of fovea_nn, whose products are in other functions
#   limits    spills.txt: uses of the stack that one turn of a loop may have; without a line, one for each eight
#             operations

function hex(text, i, value) {
  for (i = 1; i <= length(text); i++) value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
  return value
}

function uses_stack(line) {
  return line ~ vector && (line ~ /[(]%rsp|\[sp/ || (framed && line ~ /-0x[0-9a-f]+[(]%rbp|\[x29/))
}

# A loop that asks for what is going to be read, and does nothing else with vectors.
function only_fetches(start, end) {
  return fetches[end] > fetches[start - 1] && vectors[end] == vectors[start - 1]
}

# The shared body that a function is from: the first word of its name, without fovea_ and nn_.
function body_of(name) {
  sub(/^<(fovea_(nn_)?)?/, "", name)
  if (name ~ /^value_careful/) return "careful"
  sub(/[_.>].*/, "", name)
  return name
}

function read_limits(line, field, place) {
  while ((getline line < limits) > 0) {
    if (split(line, field) < 3 || field[1] != compiler) continue
    if (!of_nn) all_bodies = 1
    split(field[2], place, "/")
    if (place[1] == isa) limit[place[2]] = field[3]
  }
}

# From a jump's target to the jump.
function look_at_loop(start, end, k, operations, uses, example) {
  for (k = start; k <= end; k++) {
    if (k < end && (k in loop) && loop[k] >= start && !only_fetches(loop[k], k)) return # has another within
    if (text[k] ~ operation) operations++
    if (uses_stack(text[k])) {
      uses++
      example = text[k]
    }
  }
  if (operations < 8) return
  loops[body]++
  if (show && uses) printf "%s %s %d operations, the stack %d times\n", isa, function_name, operations, uses
  if (body in limit ? uses > limit[body] : uses * 8 > operations) {
    printf "%s: %s a loop of %d operations uses the stack %d times: %s\n", isa, function_name, operations, uses, example
    bad = 1
  }
}

function finish_function(i) {
  body = body_of(function_name)
  if (multiplies && body ~ multiplies) products[body] = 1
  for (i = 1; i <= count; i++) {
    if (i in jump && jump[i] <= address[i] && jump[i] in line_at) loop[i] = line_at[jump[i]]
  }
  for (i = 1; i <= count && (all_bodies || body in products); i++) if (i in loop) look_at_loop(loop[i], i)
  split("", jump)
  split("", loop)
  split("", line_at)
  count = framed = 0
}

BEGIN {
  read_limits()
  needed = of_nn ? "dot" : group == "int8" ? "sums" : "score"
  multiplies = of_nn ? "^(dot|bf16)$" : group == "int8" ? "^sums$" : "^(score|value)$"
  if (group != "" && group != "int8") needed = multiplies = "" # other products, or none
  operation = "vfn?m(add|sub)[0-9]+ps|v(add|sub|mul|div|max|min|dpbf16|scalef|rndscale|cvtph2)[a-z0-9]*ps"
  operation = operation "|fml[as]l?|bfmlal|f(add|sub|mul|div|max|min|cvt)[a-z]*[ \t]+v"
  operation = operation "|vpdpbusd|vpmaddwd|us?dot|sdot|u?smmla"
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
  line_at[address[count]] = count
  text[count] = $0
  fetches[count] = fetches[count - 1] + ($2 ~ /^prf|^prefetch/)
  vectors[count] = vectors[count - 1] + ($0 ~ /%[yz]mm|[ \t,{][qv][0-9]/)
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
  if (functions && needed) products[needed] = 1 # without functions it is for another architecture
  for (body in products) {
    if (loops[body]) continue
    print isa ": no loop of products was found in " body
    bad = 1
  }
  exit bad
}
