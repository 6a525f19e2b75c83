#!/usr/bin/env python3
"""How the code is cut: lengths of functions and files, members of classes.

    scripts/shape.py [FOLDER...]     # src by default; tests, benchmarks and fuzzers are left out

Functions are found by their braces: a block that follows a parameter list at the level of a namespace or class.
A function's length is its lines from the signature to the closing brace; lambdas belong to the function around
them. A class's members are its data, not its functions. A struct that hides none of
them (hidden ones end in _) is a record: options, a row, a report.
"""
import pathlib
import re
import sys

SKIPPED = re.compile(r"(_test|_fuzz|_bench)\.(cc|h)$|testing\.h$|_for_tests\.h$|test_files\.h$")


def blank(text):
    """The text with comments, strings and preprocessor lines turned to spaces; line breaks stay."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*',
        re.DOTALL | re.MULTILINE)
    # A quote inside a number (1'000) is no character.
    text = re.sub(r"(?<=\d)'(?=\d)", " ", text)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def head_of(text, brace):
    """What stands before a brace, from the end of the statement or block before it."""
    start = max(text.rfind(c, 0, brace) for c in ";{}") + 1
    head = text[start:brace]
    head = re.sub(r"^\s*(public|private|protected)\s*:", "", head)
    return start + (len(head) - len(head.lstrip())), head.strip()


class Shape:
    def __init__(self):
        self.functions = []  # (lines, where)
        self.classes, self.records = [], []  # (members, functions, where)
        self.files = []

    def read(self, path):
        raw = path.read_text()
        self.files.append((raw.count("\n"), str(path)))
        text = blank(raw)
        stack = []  # (kind, start offset, name)
        for place, char in enumerate(text):
            if char == "{":
                start, head = head_of(text, place)
                stack.append((self.kind(head, stack), start, head))
            elif char == "}" and stack:
                kind, start, head = stack.pop()
                where = f"{path}:{raw.count(chr(10), 0, start) + 1}"
                if kind == "function":
                    lines = raw.count("\n", start, place) + 1
                    self.functions.append((lines, where))
                elif kind == "class":
                    body = text[start:place + 1]
                    hides = re.search(r"\bclass\b", head) or re.search(r"\w_\b", body)
                    (self.classes if hides else self.records).append(self.members(body, head, where))

    @staticmethod
    def kind(head, stack):
        inside = stack[-1][0] if stack else "namespace"
        if inside not in ("namespace", "class"):
            return "block"
        if re.match(r"(inline )?namespace\b|extern\b", head):
            return "namespace"
        plain = re.sub(r"^template\s*<[^{]*>\s*", "", head)
        if re.match(r"(class|struct|union)\b", plain) and "(" not in plain.split(":")[0].replace("alignas(", ""):
            return "class"
        if re.match(r"enum\b", plain) or "=" == plain[-1:]:
            return "block"
        return "function" if ")" in plain and not re.search(r"=\s*$", plain) else "block"

    @staticmethod
    def members(body, head, where):
        inner = body[body.index("{") + 1:-1]
        while re.search(r"\{[^{}]*\}", inner):  # Bodies and nested types go; what is left is one line each.
            inner = re.sub(r"\{[^{}]*\}", lambda m: "\x01" + re.sub(r"[^\n]", " ", m.group())[1:], inner)
        data = functions = 0
        for statement in re.split(r";|(?<=\x01)(?=\s*\n)", re.sub(r"\b(public|private|protected)\s*:", "", inner)):
            plain = statement.strip()
            if not plain or re.match(r"(using|friend|static|enum|class|struct|typedef|template|explicit|virtual)\b", plain):
                functions += bool(re.match(r"(explicit|virtual|template)\b", plain))
                continue
            if re.search(r"\(", re.sub(r"<[^;]*>", "", plain.split("=")[0])):
                functions += 1
            elif re.search(r"\w", plain.replace("\x01", "")):
                data += 1 + re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", plain)).split("=")[0].count(",")
        name = re.search(r"(class|struct|union)\s+(?:alignas\(\w+\)\s*)?(\w+)", head)
        return data, functions, f"{name.group(2) if name else '?'} ({where})"


def at(values, fraction):
    return values[min(len(values) - 1, int(len(values) * fraction))]


def main():
    shape = Shape()
    for folder in sys.argv[1:] or ["src"]:
        for path in sorted(pathlib.Path(folder).rglob("*.[ch]*")):
            if path.suffix in (".cc", ".h", ".cu", ".cuh") and not SKIPPED.search(path.name):
                shape.read(path)
    if not shape.functions:
        sys.exit(f"shape: there is no function in {', '.join(sys.argv[1:]) or 'src'}: name folders with .cc, .h, .cu or .cuh files")
    lengths = sorted(lines for lines, _ in shape.functions)
    sizes = sorted(lines for lines, _ in shape.files)
    print(f"{len(lengths)} functions: median {at(lengths, .5)}, p90 {at(lengths, .9)}, "
          f"p99 {at(lengths, .99)}, longest {lengths[-1]} lines")
    print(f"{len(sizes)} files: median {at(sizes, .5)}, p90 {at(sizes, .9)}, longest {sizes[-1]} lines")
    print("\nwidest classes (members, functions):")
    for data, functions, where in sorted(shape.classes, reverse=True)[:12]:
        print(f"{data:5d} {functions:4d}  {where}")
    print("\nwidest records (members, functions):")
    for data, functions, where in sorted(shape.records, reverse=True)[:8]:
        print(f"{data:5d} {functions:4d}  {where}")
    print("\nlongest functions:")
    for lines, where in sorted(shape.functions, reverse=True)[:8]:
        print(f"{lines:5d}  {where}")


if __name__ == "__main__":
    main()
