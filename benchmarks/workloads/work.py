# Parses and prints JSON, and parses Python, as often as the argument says: deep C stacks, many
# small blocks, long strings grown by realloc.
import ast
import json
import sys

document = {"records": [{"id": n, "name": "name %d" % n, "tags": ["a", "b", str(n)]} for n in range(4000)]}
program = "\n".join("def f%d(a, b=%d):\n    return [a + b * i for i in range(%d)]" % (n, n, n) for n in range(400))
total = 0
for _ in range(int(sys.argv[1])):
    text = json.dumps(document, indent=1)
    total += len(text) + len(json.loads(text)["records"])
    total += sum(1 for _ in ast.walk(ast.parse(program)))
print(total)
