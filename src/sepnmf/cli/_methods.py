"""The command that lists the methods."""

from sepnmf.cli import _options as opt
from sepnmf.cli._app import app, say, show_json, show_table


@app.command()
def methods(as_json: opt.Json = False) -> None:
    """List the methods: what each does, when to use it, what it costs, which data it takes."""
    from sepnmf.registry import METHODS

    facts = [method.facts() for method in METHODS.values()]
    if as_json:
        show_json(facts)
        return
    head = dict.fromkeys(("method", "what it does", "when to use it", "cost", "sparse", "in chunks"), "left")
    rows = [
        [
            fact["method"],
            fact["summary"],
            fact["use"],
            fact["cost"],
            "yes" if fact["sparse"] else "no",
            fact["chunks"],
        ]
        for fact in facts
    ]
    show_table(head, rows)
    needing = [f"{fact['method']} ({', '.join(fact['required'])})" for fact in facts if fact["required"]]
    say(f"Options without a default: {'; '.join(needing)}. Options are passed as --set NAME=VALUE.")
    say("In chunks, a method chooses exactly as in memory, or among candidates that are screened first.")
