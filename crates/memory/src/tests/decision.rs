use crate::Kind;
use crate::observe::decisions;

#[test]
fn only_what_is_said_to_be_one_is_a_decision() {
    let text = "\
We could decide: this or that.
Decision: use SQLite
It is there already.

- **Decision**: keep the spool
**Decided:** no regex
### Decision: one page
**Decision** – short names
The decision: not this.
```
Decision: in code
```
Decision:
";
    let found = decisions(text);
    let titles: Vec<&str> = found.iter().map(|decision| decision.title.as_str()).collect();
    assert_eq!(titles, ["use SQLite", "keep the spool", "no regex", "one page", "short names"]);
    assert_eq!(found[0].narrative, "use SQLite\nIt is there already.");
    assert!(found.iter().all(|decision| decision.kind == Kind::Decision && decision.tool.is_empty()));
}

#[test]
fn five_at_most() {
    assert_eq!(decisions(&"Decision: x\n".repeat(9)).len(), 5);
    assert!(decisions("").is_empty());
}

#[test]
fn code_holds_no_decisions() {
    let found = decisions("```\nDecision: in code\n```\nDecision: after it\n```\nlet x = 1;\n```\nnot a reason\n");
    assert_eq!(found.iter().map(|decision| decision.narrative.as_str()).collect::<Vec<_>>(), ["after it"]);
}
