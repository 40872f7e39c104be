//! Programs as distributions ship them, and something for each to do.

use anyhow::Result;

use crate::soak::package;

/// How a program is brought to be looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Looked {
    /// By options of `record`, while it computes.
    WhileItRuns,
    /// By `lifetrace snapshot`, over and over.
    FromOutside,
}

/// A program, and what it does in a folder of its own.
pub struct Work {
    pub name: &'static str,
    /// Files, and the packages that have them.
    needs: &'static [(&'static str, &'static str)],
    /// A shell's, before each run.
    pub prepare: &'static str,
    /// A shell's; what it prints is the same each time.
    pub script: &'static str,
    /// Files and folders that it makes or changes.
    pub results: &'static [&'static str],
    /// What processes are called that snapshots are asked of.
    pub process: &'static str,
    pub looked: Looked,
}

impl Work {
    /// Sees to it that all is there that it needs.
    ///
    /// # Errors
    /// If something is not, and cannot be installed.
    pub fn need(&self) -> Result<()> {
        self.needs.iter().try_for_each(|(file, package)| package::need(file, package))
    }
}

pub const WORKS: &[Work] = &[
    Work {
        name: "ocamlopt",
        needs: &[("ocamlopt.opt", "ocaml")],
        prepare: "cp /usr/lib/ocaml/camlinternalFormat.ml /usr/lib/ocaml/scanf.ml /usr/lib/ocaml/format.ml .",
        script: "exec ocamlopt.opt -w -a -c camlinternalFormat.ml scanf.ml format.ml",
        results: &["camlinternalFormat.o", "scanf.o", "format.o", "format.cmx"],
        process: "ocamlopt.opt",
        looked: Looked::WhileItRuns,
    },
    Work {
        name: "coqc",
        needs: &[("coqc", "coq")],
        prepare: "cat > proof.v <<'END'
Require Import Arith List.
Theorem plus_swap : forall n m p, n + (m + p) = m + (n + p).
Proof. intros. rewrite Nat.add_assoc. rewrite (Nat.add_comm n m). rewrite <- Nat.add_assoc. reflexivity. Qed.
Fixpoint sum (l : list nat) : nat := match l with nil => 0 | x :: r => x + sum r end.
Theorem sum_app : forall a b, sum (a ++ b) = sum a + sum b.
Proof. induction a; intros; simpl; auto. rewrite IHa. apply Nat.add_assoc. Qed.
Eval vm_compute in sum (seq 0 200).
END",
        script: "exec coqc -q proof.v",
        results: &["proof.vo", "proof.glob"],
        process: "coqc",
        looked: Looked::WhileItRuns,
    },
    Work {
        name: "unison",
        needs: &[("unison", "unison")],
        prepare: "mkdir a b && for i in $(seq 300); do
            mkdir -p a/$((i % 7)) b/$((i % 5)); seq $i > a/$((i % 7))/one$i; seq 9 $i > b/$((i % 5))/other$i
        done",
        script: "HOME=$PWD/home UNISON=$PWD/home exec unison a b -batch -ui text -silent 2>&1",
        results: &["a", "b"],
        process: "unison",
        looked: Looked::WhileItRuns,
    },
    Work {
        name: "frama-c",
        needs: &[("frama-c", "frama-c-base")],
        prepare: "cat > sort.c <<'END'
int numbers[40];
void sort(int *a, int n) { for (int i = 1; i < n; i++) { int x = a[i], j = i; while (j > 0 && a[j - 1] > x) { a[j] = a[j - 1]; j--; } a[j] = x; } }
int main(int c, char **v) { for (int i = 0; i < 40; i++) numbers[i] = (i * 7919) % 41 + (c > 1 ? c : 0); sort(numbers, 40); return numbers[0] > numbers[39]; }
END",
        script: "exec frama-c -eva -eva-slevel 2000 -eva-verbose 0 sort.c -then -print -ocode printed.c",
        results: &["printed.c"],
        process: "frama-c",
        looked: Looked::WhileItRuns,
    },
    Work {
        name: "asciidoctor",
        needs: &[("asciidoctor", "asciidoctor")],
        prepare: "for i in $(seq 400); do
            printf '== Chapter %s\\n\\nSome *words* of `code` and a https://example.org[link].\\n\\n* one\\n** two\\n\\n|===\\n|a |b\\n|===\\n\\n' $i
        done > book.adoc",
        script: "exec asciidoctor -a reproducible -o book.html book.adoc",
        results: &["book.html"],
        process: "asciidoctor",
        looked: Looked::WhileItRuns,
    },
    Work {
        name: "rails",
        needs: &[
            ("puma", "puma"),
            ("/usr/share/doc/ruby-railties", "ruby-railties"),
            ("/usr/share/doc/ruby-activerecord", "ruby-activerecord"),
            ("/usr/share/doc/ruby-sqlite3", "ruby-sqlite3"),
        ],
        prepare: "cp \"$FIXTURES/ruby/notes.ru\" .",
        script: "puma -q -e production -b tcp://127.0.0.1:9393 -t 4:4 notes.ru > log & server=$!
            python3 \"$FIXTURES/python/load.py\" 9393 4000 /notes/7 /notes /notes/42 /notes/199
            kill $server; wait $server; echo $?",
        results: &[],
        process: "puma",
        looked: Looked::FromOutside,
    },
    Work {
        name: "redis",
        needs: &[("redis-server", "redis-server"), ("redis-benchmark", "redis-tools")],
        prepare: "true",
        script: "redis-server --port 0 --unixsocket s --save '' --daemonize no > log & server=$!
            ask() { redis-cli -s s \"$@\"; }
            until ask ping >> log 2>&1; do sleep 0.1; done
            redis-benchmark -s s -q -n 100000 -r 10000 -t set,get,lpush,lrange_100,zadd,hset > log
            ask flushall
            for i in $(seq 20000); do
                echo \"SET key$i value$((i * 7919))\"; echo \"RPUSH list$((i % 100)) $i\"; echo \"ZADD set $((i % 977)) $i\"
            done | ask --pipe | tail -1
            ask dbsize; ask debug digest; ask shutdown nosave; wait $server; echo $?",
        results: &[],
        process: "redis-server",
        looked: Looked::FromOutside,
    },
    Work {
        name: "sqlite",
        needs: &[("sqlite3", "sqlite3")],
        prepare: "cat > work.sql <<'END'
create table words (id integer primary key, word text, number integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000)
  insert into words select i, 'word' || (i * 7919 % 10007), i % 977 from n;
create index by_word on words (word);
select word, count(*), sum(number) from words group by word order by 3 desc, 1 limit 20;
select count(*) from words a join words b on a.id = b.number where a.word < b.word;
select sum(length(group_concat)) from (select group_concat(word) as group_concat from words group by number);
END",
        script: "exec sqlite3 work.db < work.sql",
        results: &["work.db"],
        process: "sqlite3",
        looked: Looked::FromOutside,
    },
    Work {
        name: "git",
        needs: &[("git", "git")],
        prepare: "git init -q repository && cd repository && git config user.name A && git config user.email a@b.c && git config gc.auto 0 &&
            for i in $(seq 150); do
                seq $i 3000 > numbers$((i % 20)); git add . && GIT_AUTHOR_DATE=\"@$i +0000\" GIT_COMMITTER_DATE=\"@$i +0000\" git commit -q -m \"step $i\"
            done",
        script: "cd repository && git -c pack.threads=2 repack -q -a -d -f --depth=50 --window=100 && git fsck --full 2>&1 &&
            git log --stat -p | sha256sum && git blame numbers3 | sha256sum && git rev-parse HEAD",
        results: &[],
        process: "git",
        looked: Looked::FromOutside,
    },
    Work {
        name: "menhir",
        needs: &[("menhir", "menhir")],
        prepare: "{
            echo '%token <int> INT'; echo '%token LEFT RIGHT END'
            for i in $(seq 40); do echo \"%token OPERATOR$i\"; done
            for i in $(seq 40); do echo \"%left OPERATOR$i\"; done
            echo '%start <int> main'; echo '%type <int> e'; echo '%%'
            echo 'main: e END { $1 }'; echo 'e: INT { $1 } | LEFT e RIGHT { $2 }'
            for i in $(seq 40); do echo \"| left = e OPERATOR$i right = e { left + right }\"; done
        } > grammar.mly",
        script: "exec menhir grammar.mly",
        results: &["grammar.ml", "grammar.mli"],
        process: "menhir",
        looked: Looked::WhileItRuns,
    },
];
