//! The normal distribution's quantiles.

/// The number below which a standard normal variable is with this probability, which lies between 0
/// and 1; to seven digits (Wichura 1988, AS 241).
pub fn quantile(probability: f64) -> f64 {
    let q = probability - 0.5;
    if q.abs() <= 0.425 {
        return central(q);
    }
    let tail = (-probability.min(1.0 - probability).ln()).sqrt();
    outer(tail).copysign(q)
}

fn central(q: f64) -> f64 {
    let r = 0.180_625 - q * q;
    let over = [3.387_132_717_9, 50.434_271_938, 159.291_132_02, 59.109_374_720];
    let under = [1.0, 17.895_169_469, 78.757_757_664, 67.187_563_600];
    q * polynomial(over, r) / polynomial(under, r)
}

fn outer(tail: f64) -> f64 {
    if tail <= 5.0 {
        let over = [1.423_437_277_7, 2.756_815_390_0, 1.306_728_481_6, 0.170_238_211_03];
        let under = [1.0, 0.737_001_642_50, 0.120_211_329_75, 0.0];
        return polynomial(over, tail - 1.6) / polynomial(under, tail - 1.6);
    }
    let over = [6.657_905_115_0, 3.081_226_386_0, 0.428_682_943_37, 0.017_337_203_997];
    let under = [1.0, 0.241_978_942_25, 0.012_258_202_635, 0.0];
    polynomial(over, tail - 5.0) / polynomial(under, tail - 5.0)
}

fn polynomial(coefficients: [f64; 4], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_tables() {
        for (probability, expected) in [
            (0.5, 0.0),
            (0.75, 0.674_489_750),
            (0.9, 1.281_551_566),
            (0.95, 1.644_853_627),
            (0.975, 1.959_963_985),
            (0.995, 2.575_829_304),
            (0.999_5, 3.290_526_731),
            (1e-9, -5.997_807_015),
            (1e-15, -7.941_345_326),
        ] {
            let found = quantile(probability);
            assert!((found - expected).abs() < 2e-6, "{probability}: {found}");
        }
    }

    #[test]
    fn it_is_symmetric() {
        for probability in [1e-6, 0.01, 0.07, 0.3] {
            assert!((quantile(probability) + quantile(1.0 - probability)).abs() < 1e-6);
        }
    }
}
