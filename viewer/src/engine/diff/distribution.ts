// The normal distribution and Student's.

/** Degrees of freedom from which Student's distribution is taken for the normal one. */
const MANY = 10_000;

/** Probability that a statistic is at least so far from 0, on either side; infinite freedom is a variance that is known. */
export function twoSidedP(statistic: number, freedom: number): number {
  const distance = Math.abs(statistic);
  if (Number.isNaN(distance)) return 1;
  const known = degrees(freedom);
  const tail = known === null ? erfc(distance / Math.SQRT2) : studentTail(distance, known);
  return Math.min(1, Math.max(0, tail));
}

/** How many standard errors an estimate is from the truth at most, with this probability. */
export function critical(level: number, freedom: number): number {
  let [low, high] = [0, 1];
  while (twoSidedP(high, freedom) > 1 - level) high *= 2;
  for (let step = 0; step < 200 && high - low > 1e-13 * high; step++) {
    const middle = (low + high) / 2;
    if (twoSidedP(middle, freedom) > 1 - level) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Null if it is the normal distribution. */
function degrees(freedom: number): number | null {
  const known = Number.isNaN(freedom) ? 1 : Math.max(1, freedom);
  return known < MANY ? known : null;
}

/** The complementary error function of what is not negative, by Cody (1969), to full precision. */
export function erfc(x: number): number {
  if (x <= 0.46875) return 1 - erfOfSmall(x);
  // Beyond, it is less than any number but 0.
  if (x > 28) return 0;
  const scaled = x <= 4 ? erfcOfMiddle(x) : erfcOfLarge(x);
  // exp(-x^2) without the loss of what rounding x^2 costs.
  const rounded = Math.trunc(x * 16) / 16;
  return Math.exp(-rounded * rounded) * Math.exp(-(x - rounded) * (x + rounded)) * scaled;
}

const SMALL_OVER = [0.185777706184603153, 3.16112374387056560, 113.864154151050156, 377.485237685302021, 3209.37758913846947];
const SMALL_UNDER = [1, 23.6012909523441209, 244.024637934444173, 1282.61652607737228, 2844.23683343917062];
const MIDDLE_OVER = [
  2.15311535474403846e-8, 0.564188496988670089, 8.88314979438837594, 66.1191906371416295, 298.635138197400131,
  881.952221241769090, 1712.04761263407058, 2051.07837782607147, 1230.33935479799725,
];
const MIDDLE_UNDER = [
  1, 15.7449261107098347, 117.693950891312499, 537.181101862009858, 1621.38957456669019, 3290.79923573345963,
  4362.61909014324716, 3439.36767414372164, 1230.33935480374942,
];
const LARGE_OVER = [
  1.63153871373020978e-2, 0.305326634961232344, 0.360344899949804439, 0.125781726111229246, 1.60837851487422766e-2,
  6.58749161529837803e-4,
];
const LARGE_UNDER = [1, 2.56852019228982242, 1.87295284992346725, 0.527905102951428412, 6.05183413124143191e-2, 2.33520497626869185e-3];

function erfOfSmall(x: number): number {
  const y = x * x;
  return (x * polynomial(SMALL_OVER, y)) / polynomial(SMALL_UNDER, y);
}

function erfcOfMiddle(x: number): number {
  return polynomial(MIDDLE_OVER, x) / polynomial(MIDDLE_UNDER, x);
}

function erfcOfLarge(x: number): number {
  const y = 1 / (x * x);
  const rest = (y * polynomial(LARGE_OVER, y)) / polynomial(LARGE_UNDER, y);
  return (1 / Math.sqrt(Math.PI) - rest) / x;
}

/** The greatest power first. */
function polynomial(coefficients: readonly number[], x: number): number {
  let sum = 0;
  for (let at = 0; at < coefficients.length; at++) sum = sum * x + coefficients[at]!;
  return sum;
}

/** Probability of Student's variable to be so far from 0, on either side. */
function studentTail(distance: number, freedom: number): number {
  return regularisedBeta(freedom / (freedom + distance * distance), freedom / 2, 0.5);
}

/** The regularised incomplete beta function, by its continued fraction (Lentz 1976). */
function regularisedBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(lnGamma(a + b) - lnGamma(a) - lnGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return (front * fraction(x, a, b)) / a;
  return 1 - (front * fraction(1 - x, b, a)) / b;
}

function fraction(x: number, a: number, b: number): number {
  const away = (value: number) => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let found = d;
  for (let m = 1; m <= 1000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let factor = 1;
    for (const term of [even, odd]) {
      d = 1 / away(1 + term * d);
      c = away(1 + term / c);
      factor = d * c;
      found *= factor;
    }
    if (Math.abs(factor - 1) < 1e-15) break;
  }
  return found;
}

/** Lanczos' approximation (g = 7, nine terms), to 15 digits. */
function lnGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - lnGamma(1 - x);
  const terms = [
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
  ];
  const sum = terms.reduce((all, term, at) => (at === 0 ? term : all + term / (x - 1 + at)), 0);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}
