//! One contract for all policies: random lives from printed seeds, and proof that the checker sees
//! what is broken.

#[path = "contract/broken.rs"]
mod broken;
#[path = "contract/checker.rs"]
mod checker;
#[path = "contract/device.rs"]
mod device;
#[path = "contract/random.rs"]
mod random;
#[path = "contract/subject.rs"]
mod subject;
#[path = "contract/witness.rs"]
mod witness;

use checker::{Life, Maker, check};
use iofwd_scheduler::policy::{
    ALL, Aioli, AioliSettings, Mlf, MlfSettings, Mode, Phase, Policy, Setup, Sharing, Sjf,
    SjfSettings, Twins, TwinsSettings, Wfq, WfqSettings, by_name,
};
use iofwd_scheduler::scheduler::Scheduler;
use iofwd_scheduler::time::Span;

/// Lives of each policy and variant.
const SEEDS: u64 = 100;

/// An age that many requests reach.
const SOON: Span = Span::from_millis(1);

/// Variants of a policy that its default settings do not show.
const VARIANTS: &[Maker] = &[
    |setup| twins(setup, TwinsSettings { mode: Mode::Conserving, ..TwinsSettings::default() }),
    |setup| twins(setup, TwinsSettings { phase: Phase::Local, ..TwinsSettings::default() }),
    |setup| twins(setup, TwinsSettings { group: 2, ..TwinsSettings::default() }),
    |setup| twins(&Setup { agent: 1, agents: 3, ..*setup }, TwinsSettings::default()),
    |setup| Box::new(Sjf::new(setup, SjfSettings { age: SOON })),
    |setup| Box::new(Mlf::new(setup, MlfSettings { age: SOON, ..MlfSettings::default() })),
    |setup| Box::new(Mlf::new(setup, MlfSettings { quantum: 4, ..MlfSettings::default() })),
    |setup| {
        Box::new(Aioli::new(
            setup,
            AioliSettings { quantum: 4, age: SOON, ..AioliSettings::default() },
        ))
    },
    |setup| {
        let settings = WfqSettings { sharing: Sharing::Servers, ..WfqSettings::default() };
        Box::new(Wfq::new(setup, settings))
    },
    |setup| twins(setup, TwinsSettings { gather: true, ..TwinsSettings::default() }),
    |setup| {
        let agents = Setup { agent: 1, agents: 2, ..*setup };
        let settings = TwinsSettings { gather: true, group: 2, ..TwinsSettings::default() };
        twins(&agents, TwinsSettings { mode: Mode::Conserving, ..settings })
    },
];

fn twins(setup: &Setup, settings: TwinsSettings) -> Box<dyn Policy> {
    Box::new(Twins::new(setup, settings))
}

/// Policies that go well with bounds so tight that servers take room from each other.
const UNTIMED: &[Maker] = &[
    |setup| by_name("fifo", setup).expect("it exists"),
    |setup| by_name("to-agg", setup).expect("it exists"),
    |setup| by_name("hbrr", setup).expect("it exists"),
    |setup| by_name("sjf", setup).expect("it exists"),
    |setup| by_name("wfq", setup).expect("it exists"),
];

const EVERY: &[Maker] = &[
    |setup| by_name("none", setup).expect("it exists"),
    |setup| by_name("hbrr", setup).expect("it exists"),
    |setup| by_name("mlf", setup).expect("it exists"),
    |setup| by_name("aioli", setup).expect("it exists"),
    |setup| by_name("sw", setup).expect("it exists"),
    |setup| by_name("twins", setup).expect("it exists"),
];

/// One life must pass; every third is lived again and must see the same decisions.
fn live(seed: u64, life: &Life) {
    let first = check::<Scheduler>(seed, life).unwrap_or_else(|fault| panic!("{fault}"));
    if seed.is_multiple_of(3) {
        let second = check::<Scheduler>(seed, life).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(first, second, "seed {seed}: same seed, other decisions");
    }
}

fn lives(policy: Maker, timed: bool, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let others: &[Maker] = match seed % 4 {
            0 | 1 => &[],
            _ if timed || seed % 4 == 2 => EVERY,
            _ => UNTIMED,
        };
        let tight = !timed && seed % 4 % 2 == 1;
        let others = if tight && !others.is_empty() { UNTIMED } else { others };
        let steps = seed % 5 == 4;
        live(seed, &Life { requests: 120, policy, others, tight, steps, flood: false });
    }
}

#[test]
fn every_policy_keeps_the_contract() {
    for (n, entry) in (0..).zip(ALL) {
        println!("{}: seeds {} to {}", entry.name, n * SEEDS, (n + 1) * SEEDS - 1);
        lives(entry.make, entry.name == "twins", n * SEEDS..(n + 1) * SEEDS);
    }
}

#[test]
fn every_variant_keeps_the_contract() {
    for (n, &variant) in (100..).zip(VARIANTS) {
        println!("variant {n}: seeds {} to {}", n * SEEDS, (n + 1) * SEEDS - 1);
        lives(variant, true, n * SEEDS..(n + 1) * SEEDS);
    }
}

/// Without holds: those idle on purpose.
#[test]
fn no_policy_is_idle_in_a_flood() {
    let unheld: [(&str, Maker); 2] = [
        ("mlf", |setup| {
            Box::new(Mlf::new(setup, MlfSettings { hold: Span::ZERO, ..MlfSettings::default() }))
        }),
        ("aioli", |setup| {
            let settings = AioliSettings { hold: Span::ZERO, ..AioliSettings::default() };
            Box::new(Aioli::new(setup, settings))
        }),
    ];
    for (n, entry) in (0..).zip(ALL) {
        let other = unheld.iter().find(|(name, _)| *name == entry.name);
        let make = other.map_or(entry.make, |&(_, make)| make);
        for seed in 20_000 + n * 10..20_002 + n * 10 {
            live(seed, &Life { requests: 3_000, flood: true, ..Life::plain(make) });
        }
    }
}

#[test]
fn names_are_unique_and_those_of_the_policies() {
    let setup = Setup::new(3);
    for entry in ALL {
        assert_eq!((entry.make)(&setup).name(), entry.name);
        assert_eq!(ALL.iter().filter(|other| other.name == entry.name).count(), 1);
        assert!(!entry.about.is_empty());
    }
    assert!(by_name("no such policy", &setup).is_none());
}
