//! What a handful of measurements allows to say, and what not.
//!
//! The TWINS thesis (Bez, section 3.4.2) repeats each experiment at least eight times in random
//! order, and gives the mean within three standard errors, which is 99.7 % if the spread is known.
//! From eight values it is not known, only estimated: so the bounds here are Student's (4.4
//! standard errors for eight values). Two sets of runs are compared by Welch's t test, which does
//! not want the same spread on both sides, and if there are more than two, the level is Holm's:
//! one false "different" in any of the pairs stays below 0.3 %.

/// How sure a statement is to be.
pub(super) const CONFIDENCE: f64 = 0.997;

/// The value in the middle; the mean of the two if there are two.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// The average.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Half the width of the interval around the mean that holds the true one with confidence;
/// nothing for a single value.
pub(crate) fn margin(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(2)? as f64 + 1.0;
    Some(quantile(CONFIDENCE, freedom) * (variance(values) / values.len() as f64).sqrt())
}

/// How likely a difference of the means as large as this is, if there is none (Welch's t test);
/// nothing if a side has a single value.
pub(super) fn welch(one: &[f64], two: &[f64]) -> Option<f64> {
    if one.len() < 2 || two.len() < 2 {
        return None;
    }
    let [a, b] = [one, two].map(|side| variance(side) / side.len() as f64);
    let distance = (mean(one) - mean(two)).abs();
    if a + b == 0.0 {
        return Some(if distance == 0.0 { 1.0 } else { 0.0 });
    }
    let part = |error: f64, side: &[f64]| error * error / (side.len() as f64 - 1.0);
    let freedom = (a + b) * (a + b) / (part(a, one) + part(b, two));
    Some(outside(distance / (a + b).sqrt(), freedom))
}

/// Holm's correction: each likelihood as it counts among the others.
pub(super) fn holm(likelihoods: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..likelihoods.len()).collect();
    order.sort_by(|a, b| likelihoods[*a].total_cmp(&likelihoods[*b]));
    let mut corrected = vec![0.0; likelihoods.len()];
    let mut largest: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        let factor = (likelihoods.len() - rank) as f64;
        largest = largest.max(likelihoods[index] * factor).min(1.0);
        corrected[index] = largest;
    }
    corrected
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

/// How likely it is that Student's t lies further from zero than this.
fn outside(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The t that keeps the share of all cases between −t and t.
fn quantile(share: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while outside(high, freedom) > 1.0 - share {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if outside(middle, freedom) > 1.0 - share {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The regularised incomplete beta function, by its continued fraction.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast on one side of the maximum only; the function is symmetric.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = a * x.ln() + b * (1.0 - x).ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    front.exp() / a / fraction(x, a, b)
}

/// The denominators of the continued fraction 1 + d1/(1 + d2/(1 + …)), from the end.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let coefficient = |index: u32| {
        let m = f64::from(index / 2);
        if index.is_multiple_of(2) {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        }
    };
    (1..=TERMS).rev().fold(1.0, |rest, index| 1.0 + coefficient(index) / rest)
}

/// The logarithm of the gamma function: Stirling's series, where it is exact enough.
fn ln_gamma(x: f64) -> f64 {
    if x < 10.0 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

/// Far more than the fraction needs for the few degrees of freedom that runs have.
const TERMS: u32 = 400;

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        let error = (found - expected).abs() / expected.abs().max(1e-12);
        assert!(error < 1e-4, "{found} instead of {expected}");
    }

    #[test]
    fn the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn students_t_has_its_published_values() {
        // Two-sided, from tables: share, degrees of freedom, t.
        for (share, freedom, t) in [
            (0.95, 1.0, 12.7062),
            (0.95, 7.0, 2.36462),
            (0.99, 7.0, 3.49948),
            (0.999, 7.0, 5.40788),
            (0.99, 30.0, 2.74999),
            (0.95, 120.0, 1.97993),
        ] {
            close(quantile(share, freedom), t);
            close(outside(t, freedom), 1.0 - share);
        }
        // With one degree of freedom it is Cauchy's, with many nearly the normal distribution.
        close(outside(1.0, 1.0), 0.5);
        assert!((quantile(CONFIDENCE, 100_000.0) - 2.9677).abs() < 1e-3);
    }

    #[test]
    fn the_gamma_function_at_known_places() {
        close(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln());
        close(ln_gamma(5.0), 24_f64.ln());
        close(ln_gamma(11.0), 3_628_800_f64.ln());
    }

    #[test]
    fn welch_on_a_known_example() {
        // By hand: means 3 and 6, variances 2.5 and 10, so t = 3 / sqrt(2.5) and 5.88 degrees.
        let (one, two) = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0]);
        close(welch(&one, &two).unwrap(), outside(3.0 / 2.5_f64.sqrt(), 100.0 / 17.0));
        assert!((welch(&one, &two).unwrap() - 0.107_5).abs() < 1e-3);
    }

    #[test]
    fn sameness_distance_and_too_little() {
        assert_eq!(welch(&[1.0, 1.0], &[1.0, 1.0]), Some(1.0));
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]), Some(0.0));
        assert_eq!(welch(&[1.0], &[2.0, 2.0]), None);
        assert_eq!(margin(&[1.0]), None);
        assert_eq!(margin(&[2.0, 2.0, 2.0]), Some(0.0));
    }

    #[test]
    fn the_margin_is_t_standard_errors() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        close(margin(&values).unwrap() / (6.0_f64 / 8.0).sqrt(), quantile(CONFIDENCE, 7.0));
        assert!((quantile(CONFIDENCE, 7.0) - 4.4).abs() < 0.15);
    }

    #[test]
    fn holm_raises_the_smallest_most() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
