//! Connections that are lost around a commit, and while somebody reads.

use cairn::{Cairn, NewThought, Scope, Thought, ThoughtType};

use super::cluster::{Cluster, encoded};
use super::cut::{Cut, Way};

fn thought(content: impl Into<String>) -> NewThought {
    NewThought::new(ThoughtType::Plan, content).task("t").agent("a")
}

/// In this order, so that nobody waits for a server that has gone.
struct Place {
    cairn: Cairn,
    way: Way,
    cluster: Cluster,
}

impl Place {
    fn start() -> Option<Place> {
        let cluster = Cluster::start("")?;
        let way = Way::to(&cluster);
        let cairn = Cairn::open(format!("postgres://postgres@{}/postgres", encoded(&way.socket()))).unwrap();
        let place = Place { cairn, way, cluster };
        place.cairn.record(thought("first")).unwrap();
        place.rest();
        Some(place)
    }

    /// Waits until what follows behind an answer is done, so that the next commit is that of the next record.
    fn rest(&self) {
        self.cluster.await_sql("SELECT through - size FROM cairn.derived, cairn.log", "-1");
    }

    fn contents(&self) -> String {
        self.cluster.sql("SELECT string_agg(content, ' ' ORDER BY content COLLATE \"C\") FROM cairn.thought")
    }
}

#[test]
fn a_commit_whose_connection_is_lost_is_acknowledged_and_written_once() {
    let Some(place) = Place::start() else { return };
    for (round, cut) in
        [Cut::BeforeCommit, Cut::AfterCommit, Cut::BeforeCommit, Cut::AfterCommit].into_iter().enumerate()
    {
        place.rest();
        place.way.cut(cut);
        let recorded: Vec<Thought> = std::thread::scope(|scope| {
            let record = |number| place.cairn.record(thought(format!("{round}/{number}")));
            let all: Vec<_> = (0..8).map(|number| scope.spawn(move || record(number))).collect();
            all.into_iter().map(|one| one.join().unwrap().unwrap()).collect()
        });
        assert_eq!(place.way.pending(), Cut::Never, "it was not cut");
        for known in recorded {
            assert_eq!(place.cairn.get(known.id.as_str()).unwrap().unwrap(), known, "{cut:?}");
        }
    }
    let count = "SELECT count(*), count(DISTINCT content), max(position) FROM cairn.thought";
    assert_eq!(place.cluster.sql(count), "33|33|32");
    assert!(place.cairn.verify(&Scope::All).unwrap().valid());
    assert_eq!(place.cairn.activity().failed_commits, 0);
}

/// The log is as long again as the transaction that was lost would have made it, and ends differently.
#[test]
fn what_was_remembered_of_a_lost_transaction_is_forgotten() {
    let Some(place) = Place::start() else { return };
    place.way.cut(Cut::BeforeCommitForGood);
    std::thread::scope(|scope| {
        let mine = scope.spawn(|| place.cairn.record(thought("mine")));
        let began = std::time::Instant::now();
        while place.way.pending() != Cut::Closed {
            assert!(began.elapsed().as_secs() < 60, "it was not cut");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Cairn::open(place.cluster.address()).unwrap().record(thought("another's")).unwrap();
        place.way.cut(Cut::Never);
        assert_eq!(mine.join().unwrap().unwrap().step_index, 2);
    });
    assert_eq!(place.contents(), "another's first mine");
    assert!(place.cairn.verify(&Scope::All).unwrap().valid());
}

/// What was sent, was found not to be there, and arrives only then.
#[test]
fn what_arrives_after_it_was_given_up_is_not_written() {
    let Some(place) = Place::start() else { return };
    for round in 0..3 {
        place.rest();
        place.way.cut(Cut::Late);
        place.cairn.record(thought(format!("late {round}"))).unwrap();
        assert_eq!(place.way.pending(), Cut::Never, "it was not cut");
    }
    place.cairn.record(thought("last")).unwrap();
    assert_eq!(place.contents(), "first last late 0 late 1 late 2");
    assert!(place.cairn.verify(&Scope::All).unwrap().valid());
}

#[test]
fn who_is_not_told_whether_it_was_written_can_ask_again_with_a_key() {
    let Some(place) = Place::start() else { return };
    place.way.cut(Cut::AfterCommitForGood);
    let keyed = || thought("keyed").idempotency_key("k");
    let unknown = place.cairn.record(keyed()).unwrap_err();
    assert_eq!(unknown.code(), "HANDLER_ERROR");
    assert!(unknown.to_string().contains("it is not known whether this was written"), "{unknown}");
    assert!(unknown.to_string().contains("idempotency_key"), "{unknown}");
    // Whoever comes now need not wait as long again: it is not tried as often to get through.
    let tried = place.way.refused();
    let refused = place.cairn.record(thought("refused")).unwrap_err();
    assert_eq!(refused.code(), "BUSY");
    assert!(refused.to_string().contains("nothing was written"), "{refused}");
    let again = place.way.refused() - tried;
    assert!(again < tried / 4, "{tried} attempts, then {again}");
    assert_eq!(place.cairn.list(&Default::default()).unwrap_err().code(), "BUSY");
    place.way.cut(Cut::Never);
    place.cairn.record(keyed()).unwrap();
    assert_eq!(place.contents(), "first keyed");
    assert!(place.cairn.verify(&Scope::All).unwrap().valid());
}

#[test]
fn a_reader_does_not_notice_that_a_connection_is_lost() {
    let Some(place) = Place::start() else { return };
    for _ in 0..5 {
        place.way.cut(Cut::AtOnce);
        assert_eq!(place.cairn.list(&Default::default()).unwrap().records.len(), 1);
        assert_eq!(place.way.pending(), Cut::Never, "it was not cut");
    }
}
