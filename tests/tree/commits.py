"""Commits to try: a storage that grows by chance, and the log as it tells of them later."""

from random import Random
from typing import Any

from msgspec.structs import replace

from eukhed.storage.records import (
    Change,
    Committed,
    Conversation,
    ConversationScope,
    Document,
    Entry,
    ForkPoint,
    Owner,
    Running,
    SessionScope,
    Submission,
    Task,
    TaskScope,
    Terminal,
)
from eukhed.tree.live import LiveTree, opened
from eukhed.tree.records import Name
from tests.tree.commits_model import Tree


class Grower:
    """A storage that only knows what its next commit may be; every commit that it makes is sound."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.seq = 0
        self.minted = 1
        self.conversations: list[int] = []
        self.entries: dict[int, Entry] = {}
        self.tasks: dict[int, Task] = {}
        self.submissions: dict[int, Submission] = {}
        self.documents: dict[int, Document] = {}
        self.changes: dict[Name, Change] = {}

    def mint(self) -> int:
        self.minted += 1
        return self.minted

    def commits(self, count: int) -> list[Committed]:
        return [self.commit() for _ in range(count)]

    def commit(self) -> Committed:
        """One to six changes, shuffled."""
        self.seq += 1
        self.changes = {}
        if not self.conversations:
            self.changed(Conversation(id=1))
            self.conversations.append(1)
        for _ in range(self.random.randint(0 if self.changes else 1, 6)):
            self.random.choice(
                [
                    self.converse,
                    self.enter,
                    self.begin,
                    self.go_on,
                    self.submit,
                    self.document,
                    self.document,
                    self.touch,
                    self.touch,
                ]
            )()
        changes = list(self.changes.values())
        self.random.shuffle(changes)
        return Committed(self.seq, tuple(changes))

    def changed(self, change: Change) -> None:
        kind: Any = type(change).__name__.lower()
        self.changes[Name(kind, change.id)] = change

    def somewhere(self) -> int:
        return self.random.choice(self.conversations)

    def converse(self) -> None:
        """A conversation: owned by a task, perhaps one of this commit; or a fork; or at the top."""
        made = self.mint()
        if self.tasks and self.random.random() < 0.6:
            task = self.random.choice(list(self.tasks.values()))
            self.changed(
                Conversation(id=made, owner=Owner(conversation_id=task.conversation_id, task_id=task.id))
            )
        elif self.entries and self.random.random() < 0.7:
            entry = self.random.choice(list(self.entries.values()))
            source = ForkPoint(conversation_id=entry.conversation_id, at=entry.id)
            self.changed(Conversation(id=made, parent=source))
        else:
            self.changed(Conversation(id=made))
        self.conversations.append(made)

    def enter(self) -> None:
        made, conversation = self.mint(), self.somewhere()
        task = self.random.choice(
            [None, *(at.id for at in self.tasks.values() if at.conversation_id == conversation)]
        )
        earlier = [at.id for at in self.entries.values() if at.conversation_id == conversation]
        head = self.random.choice([None, made, *earlier])
        entry = Entry(id=made, conversation_id=conversation, kind="output", by_task_id=task, head=head)
        self.entries[made] = entry
        self.changed(entry)

    def begin(self) -> None:
        task = Task(
            id=self.mint(),
            conversation_id=self.somewhere(),
            kind="command",
            state=Running(),
            input={"argv": ["x"]},
        )
        self.tasks[task.id] = task
        self.changed(task)

    def go_on(self) -> None:
        going = [task for task in self.tasks.values() if not task.terminal]
        if not going:
            return
        task = self.random.choice(going)
        if self.random.random() < 0.5:
            task = replace(task, state=Terminal(outcome="completed", result={"exit": 0}))
        else:
            task = replace(task, memos={"seen": self.seq})
        self.tasks[task.id] = task
        self.changed(task)

    def submit(self) -> None:
        queued = [at for at in self.submissions.values() if at.status == "queued"]
        if queued and self.random.random() < 0.5:
            submission = replace(self.random.choice(queued), status="done")
        else:
            submission = Submission(
                id=self.mint(), conversation_id=self.somewhere(), type="input", status="queued", data="do it"
            )
        self.submissions[submission.id] = submission
        self.changed(submission)

    def document(self) -> None:
        scopes: list[Any] = [SessionScope(), ConversationScope(conversation_id=self.somewhere())]
        scopes += [TaskScope(task_id=task) for task in self.tasks]
        made = self.mint()
        kind, key = self.random.choice([(f"plan-{made}", None), ("plan", str(made))])
        document = Document(
            id=made, kind=kind, key=key, scope=self.random.choice(scopes), created_at=self.seq
        )
        self.documents[document.id] = document
        self.changed(document)

    def touch(self) -> None:
        """Another content, or the end, of a document, perhaps of this commit."""
        if not self.documents:
            return
        document = self.random.choice(list(self.documents.values()))
        if self.random.random() < 0.4:
            document = replace(document, retired_at=self.seq)
            del self.documents[document.id]
        self.changed(document)


def as_logged(commits: list[Committed], random: Random) -> list[Committed]:
    """The same commits as the log has them at the end: early states of finished tasks, and some replaced contents
    of documents, are gone.
    """
    finished = {c.id for made in commits for c in made.changes if isinstance(c, Task) and c.terminal}
    last = {c.id: made.seq for made in commits for c in made.changes if isinstance(c, Document)}

    def told(change: Change, seq: int) -> bool:
        if isinstance(change, Task):
            return change.terminal or change.id not in finished
        if isinstance(change, Document):
            return change.created_at == seq or last[change.id] == seq or random.random() < 0.5
        return True

    return [
        Committed(made.seq, tuple(change for change in made.changes if told(change, made.seq)))
        for made in commits
    ]


def by_name(tree: LiveTree, cursor: int | None = None) -> Tree:
    """A tree without its ids: the renaming that keeps (kind, record id), undone."""
    nodes: Tree = {}
    for put in tree.snapshot(cursor).nodes():
        parent = tree.name_of(put.parent) if put.parent else None
        nodes[tree.name_of(put.id)] = (parent, opened(put.value))
    return nodes


def tree_of(commits: list[Committed]) -> LiveTree:
    """The live tree of these commits alone."""
    tree = LiveTree("w1")
    for committed in commits:
        tree.take(committed)
    return tree
