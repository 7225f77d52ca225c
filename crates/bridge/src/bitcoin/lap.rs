//! Noticing that a walk back through blocks comes to where it was.
//!
//! A block is looked up by the hash that its child names, in the cell of that number, and not every such cell is a block's: the head
//! of the chain is kept under a fixed key, which a header can name as its parent. So parents can form a circle, in which
//! some of rskj's loops never end. There is no outcome to agree with then.

/// Watches the steps of one walk (Brent's cycle detection): keeps one place, a later one each time the steps have doubled.
#[derive(Debug)]
pub(crate) struct Lap<T> {
    place: Option<T>,
    steps: u64,
    renewed_at: u64,
}

impl<T: PartialEq> Lap<T> {
    /// Before the first step.
    pub(crate) fn new() -> Self {
        Self { place: None, steps: 0, renewed_at: 1 }
    }

    /// Whether this place is one where the walk was. A circle is noticed within three rounds.
    pub(crate) fn is_closed(&mut self, place: T) -> bool {
        self.steps += 1;
        if self.place.as_ref() == Some(&place) {
            return true;
        }
        if self.steps == self.renewed_at {
            self.place = Some(place);
            self.renewed_at *= 2;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_circle_is_noticed_and_no_straight_walk() {
        for (tail, round) in [(0, 1), (0, 2), (1, 1), (5, 3), (100, 1), (3, 77), (1000, 999)] {
            let mut lap = Lap::new();
            let steps = (0..).take_while(|&step: &u64| {
                let place = if step < tail { step } else { tail + (step - tail) % round };
                !lap.is_closed(place)
            });
            let steps = steps.count() as u64;
            assert!(steps >= round && steps <= 3 * (tail + round), "{tail}, {round}: {steps}");
        }
        let mut lap = Lap::new();
        assert!((0..10_000).all(|place| !lap.is_closed(place)));
    }
}
