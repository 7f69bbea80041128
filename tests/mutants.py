"""Change one thing in a pure module and run its tests: what no test notices is a hole in them.

    python -m tests.mutants eukhed/storage/log_law.py [--tests FILE ...] [--seconds N] [--only LINE]

Each mutant is tried in a child of its own, forked from a process that has imported what all tests need; there
the changed module takes the place of the real one before anything imports it. A mutant is dead when a test
fails, or when the tests take too long. Survivors are printed with their line. Exit code 1: there are some.

Nothing on the disk is changed. The changes: comparisons, `and`/`or`, `not`, numbers by one, True/False, words
that are compared, arithmetic, conditions turned round, statements and `return`s left out.
"""

import argparse
import ast
import copy
import importlib.util
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis  # noqa: F401 - imported here once, for every child
import msgspec  # noqa: F401 - the same
import pytest

ROOT = Path(__file__).parent.parent
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


class Mutant(NamedTuple):
    """One changed module."""

    line: int
    before: str
    after: str
    tree: ast.Module


class Site(NamedTuple):
    """A node that may be changed, as a path from the module: names of fields and numbers in lists."""

    path: tuple[str | int, ...]
    node: ast.AST
    compared: bool  # whether it is looked up or compared with something


def sites(node: ast.AST, path: tuple[str | int, ...] = (), *, compared: bool = False) -> Iterator[Site]:
    """Every node that decides something: not annotations, decorators, docstrings."""
    yield Site(path, node, compared)
    compared = isinstance(node, ast.Compare | ast.MatchValue) or (
        compared and isinstance(node, ast.Tuple | ast.Set | ast.List)
    )
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_comment", "bases", "type_params"}:
            continue
        for number, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST) or _is_text(child):
                continue
            here = (*path, name, number) if isinstance(value, list) else (*path, name)
            yield from sites(child, here, compared=compared)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def changes(site: Site) -> Iterator[ast.AST]:
    """What this node may become."""
    node = site.node
    match node:
        case ast.Compare():
            for number, operator in enumerate(node.ops):
                for other in COMPARISONS.get(type(operator), ()):
                    changed = copy.deepcopy(node)
                    changed.ops[number] = other()
                    yield changed
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.Constant(value=str(value)) if site.compared:
            yield ast.Constant(value + "?")
        case ast.IfExp():
            yield ast.IfExp(node.test, node.orelse, node.body)
        case ast.If():
            yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
        case ast.Return(value=ast.expr()) if not _is_none(node.value):
            yield ast.Return(ast.Constant(None))
        case ast.Expr() | ast.AugAssign():
            yield ast.Pass()
        case _:
            pass


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def mutants(source: str) -> Iterator[Mutant]:
    """All of a module."""
    tree = ast.parse(source)
    for site in sites(tree):
        for changed in changes(site):
            whole = copy.deepcopy(tree)
            place: Any = whole
            for step in site.path[:-1]:
                place = place[step] if isinstance(step, int) else getattr(place, step)
            ast.copy_location(changed, site.node)
            if isinstance(site.path[-1], int):
                place[site.path[-1]] = changed
            else:
                setattr(place, site.path[-1], changed)
            ast.fix_missing_locations(whole)
            line = getattr(site.node, "lineno", 0)
            before, after = ast.unparse(site.node), ast.unparse(changed)
            yield Mutant(line, before.splitlines()[0], after.splitlines()[0], whole)


def install(path: Path, tree: ast.Module) -> None:
    """Put the changed module where an import of the real one would put it."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    package, _, last = name.rpartition(".")
    exec(compile(tree, str(path), "exec"), module.__dict__)
    setattr(importlib.import_module(package), last, module)


def survives(path: Path, mutant: Mutant, tests: list[str], seconds: float) -> bool:
    """Whether all tests pass with it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            with Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            install(path, mutant.tree)
            options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore", "--hypothesis-seed=0"]
            code = int(pytest.main([*options, *tests]))
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    watch = os.pidfd_open(child)
    ended, _, _ = select.select([watch], [], [], max(0.0, end - time.monotonic()))
    os.close(watch)
    if not ended:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("module")
    arguments.add_argument("--tests", nargs="*", default=[])
    arguments.add_argument("--seconds", type=float, default=30.0)
    arguments.add_argument("--only", type=int, default=0)
    given = arguments.parse_args()
    path = (ROOT / given.module).resolve()
    room, noun = path.parent.name, path.stem
    tests = given.tests or [str(ROOT / "tests" / room / f"test_{noun}.py")]
    tried = left = 0
    source = path.read_text()
    assert survives(path, Mutant(0, "", "", ast.parse(source)), tests, given.seconds), (
        "the tests fail already"
    )
    for mutant in mutants(source):
        if given.only and mutant.line != given.only:
            continue
        tried += 1
        if survives(path, mutant, tests, given.seconds):
            left += 1
            print(f"{given.module}:{mutant.line}: {mutant.before}  ->  {mutant.after}", flush=True)
    print(f"{given.module}: {tried} mutants, {tried - left} dead, {left} alive")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
