"""The commands methods and demo, which read no file."""

from pathlib import Path

from sepnmf.cli import _options as opt
from sepnmf.cli._app import app, print_line, show_json, show_table
from sepnmf.cli._output import output
from sepnmf.cli._progress import stage

DEMO = ("anchors.png", "report.html")


@app.command()
def methods(as_json: opt.Json = False) -> None:
    """List the methods: what each does, when to use it.

    The table also has the cost of each method and which data it accepts.
    """
    from sepnmf.registry import METHODS

    facts = [method.facts() for method in METHODS.values()]
    if as_json:
        show_json(facts)
        return
    rows = []
    for fact in facts:
        rows += [
            [fact["method"], fact["summary"], "yes" if fact["sparse"] else "no", fact["chunks"]],
            ["", f"when: {fact['use']}", "", ""],
            ["", f"cost: {fact['cost']}", "", ""],
        ]
    show_table({"method": "left", "what it does": "left", "sparse M": "left", "M in chunks": "left"}, rows)
    needing = [f"{fact['method']} ({', '.join(fact['required'])})" for fact in facts if fact["required"]]
    print_line(f"Options without a default: {'; '.join(needing)}. Options are passed as --set NAME=VALUE.")
    print_line(
        "On data in chunks, a method selects exactly as in memory, or among columns that are screened first."
    )


@app.command()
def demo(out: opt.Out = None) -> None:
    """Run a demonstration on generated data.

    Prints a table, and writes a figure and a report.
    """
    with output(Path("demo") if out is None else out, DEMO) as folder, stage("running the demonstration"):
        from sepnmf.cli._demonstration import demonstrate

        demonstrate(folder)
