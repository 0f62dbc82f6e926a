//! Values worked by hand, laws, and numbers from numpy (`tests/figures/make_linalg_numpy.py`).

use super::*;
use serde_json::Value;

/// A uniform number in (-1, 1) that depends on (i, j) and on nothing else.
fn u(i: usize, j: usize) -> f64 {
    let mut h = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add((j as u64 + 1) << 32);
    for m in [0xbf58_476d_1ce4_e5b9u64, 0x94d0_49bb_1331_11eb] {
        h = (h ^ (h >> 30)).wrapping_mul(m);
    }
    ((h ^ (h >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn matrix(rows: usize, cols: usize, seed: usize) -> Vec<f64> {
    (0..rows * cols).map(|i| u(i, seed)).collect()
}

/// X^T X as it is written.
fn plain_gram(x: &[f64], rows: usize, cols: usize) -> Vec<f64> {
    let at = |i: usize, j: usize| (0..rows).map(|r| x[r * cols + i] * x[r * cols + j]).sum();
    (0..cols * cols).map(|k| at(k / cols, k % cols)).collect()
}

fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|i| (0..n).map(|l| a[i / n * n + l] * b[l * n + i % n]).sum()).collect()
}

fn times(a: &[f64], x: &[f64]) -> Vec<f64> {
    a.chunks_exact(x.len()).map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |m, v| m.max(v.abs()))
}

#[track_caller]
fn near(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}: lengths");
    let (gap, scale) = (a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs())), largest(b));
    assert!(gap <= tolerance * scale, "{what}: differ by {:.1e} of {scale}", gap / scale);
}

/// A random symmetric positive definite matrix, X^T X of 2 n + 3 rows: well away from singular.
fn positive(n: usize, seed: usize) -> Vec<f64> {
    let x = matrix(2 * n + 3, n, seed);
    let mut a = vec![0.0; n * n];
    add_gram(&x, 2 * n + 3, n, &mut a);
    a
}

#[test]
fn gram_is_the_sum_of_products() {
    for (rows, cols) in [(0, 3), (1, 1), (3, 2), (7, 8), (5, 9), (300, 17), (256, 16), (513, 101), (40, 200)] {
        let x = matrix(rows, cols, rows + cols);
        let mut c = vec![0.0; cols * cols];
        add_gram(&x, rows, cols, &mut c);
        // sums of `rows` products in another order; by Cauchy and Schwarz sum |x y| is at most the largest diagonal entry
        let want = plain_gram(&x, rows, cols);
        let gap = c.iter().zip(&want).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(gap <= rows as f64 * f64::EPSILON * largest(&want), "{rows} x {cols}: {gap:.1e}");
        for i in 0..cols {
            for j in 0..i {
                assert_eq!(c[i * cols + j].to_bits(), c[j * cols + i].to_bits(), "symmetric");
            }
        }
    }
}

#[test]
fn gram_adds_to_what_is_there() {
    let mut c = [1.0, 2.0, 2.0, 5.0];
    add_gram(&[1.0, 2.0, 3.0, -1.0], 2, 2, &mut c);
    assert_eq!(c, [1.0 + 10.0, 2.0 - 1.0, 2.0 - 1.0, 5.0 + 5.0]);
}

#[test]
fn cholesky_solves_by_hand_and_refuses() {
    let x = cholesky_solve(&[4.0, 1.0, 1.0, 3.0], &[1.0, 2.0]).unwrap();
    assert!((x[0] - 1.0 / 11.0).abs() < 1e-15 && (x[1] - 7.0 / 11.0).abs() < 1e-15);
    assert_eq!(cholesky_solve(&[], &[]).unwrap(), [0.0; 0]);
    for bad in [[1.0, 2.0, 2.0, 1.0], [0.0, 0.0, 0.0, 1.0], [f64::NAN, 0.0, 0.0, 1.0], [1.0, f64::INFINITY, 0.0, 1.0]] {
        assert!(cholesky_solve(&bad, &[1.0, 2.0]).is_err(), "{bad:?}");
    }
    // not positive definite, found only in a late block
    let n = 150;
    let mut a = positive(n, 3);
    a[140 * n + 140] = -1.0;
    assert!(cholesky_solve(&a, &vec![1.0; n]).is_err());
}

#[test]
fn cholesky_leaves_a_small_residual() {
    for n in [1, 2, 7, 63, 64, 65, 130, 257] {
        let (a, b) = (positive(n, n), matrix(n, 1, 77));
        let x = cholesky_solve(&a, &b).unwrap();
        // backward stable: |b - A x| <= c n eps |A| |x|
        let left = times(&a, &x).iter().zip(&b).fold(0.0f64, |m, (l, r)| m.max((l - r).abs()));
        let bound = 4.0 * n as f64 * f64::EPSILON * largest(&a) * largest(&x) * (n as f64).sqrt();
        assert!(left <= bound, "{n}: {left:.1e} over {bound:.1e}");
    }
}

#[test]
fn a_nearly_singular_system_has_a_small_residual_too() {
    // twenty equal columns and a ridge of 1e-10: condition number 2e11 and more
    let n = 70;
    let mut a: Vec<f64> = (0..n * n).map(|k| if k / n < 20 && k % n < 20 { 1.0 } else { 0.0 }).collect();
    (0..n).for_each(|i| a[i * n + i] += if i < 20 { 1e-10 } else { 1.0 });
    let b = matrix(n, 1, 5);
    let x = cholesky_solve(&a, &b).unwrap();
    let left = times(&a, &x).iter().zip(&b).fold(0.0f64, |m, (l, r)| m.max((l - r).abs()));
    assert!(left <= 100.0 * f64::EPSILON * largest(&x), "{left:.1e} against {:.1e}", largest(&x));
}

#[test]
fn eigen_by_hand() {
    let (values, vectors) = symmetric_eigen(&[2.0, 1.0, 1.0, 2.0], 2).unwrap();
    near(&values, &[1.0, 3.0], 1e-15, "values");
    assert!((vectors[0] + vectors[1]).abs() < 1e-15 && (vectors[2] - vectors[3]).abs() < 1e-15);
    let (values, _) = symmetric_eigen(&[3.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 2.0], 3).unwrap();
    assert_eq!(values, [-1.0, 2.0, 3.0]);
    assert_eq!(symmetric_eigen(&[], 0).unwrap().0, [0.0; 0]);
    assert_eq!(symmetric_eigen(&[-7.5], 1).unwrap(), (vec![-7.5], vec![1.0]));
    assert_eq!(symmetric_eigen(&[0.0; 9], 3).unwrap().0, [0.0; 3]);
    for bad in [f64::NAN, f64::INFINITY] {
        assert!(symmetric_eigen(&[1.0, bad, bad, 1.0], 2).is_err());
    }
}

#[test]
fn eigenvectors_are_orthonormal_and_give_the_matrix_back() {
    let symmetric = |n: usize| {
        let x = matrix(n, n, n);
        (0..n * n).map(|k| 0.5 * (x[k] + x[k % n * n + k / n])).collect::<Vec<f64>>()
    };
    let ones = |n: usize| vec![1.0; n * n];
    let graded = |n: usize| {
        (0..n * n).map(|k| 10f64.powi(-((k / n + k % n) as i32)) * (1.0 + u(k / n + k % n, 8))).collect::<Vec<f64>>()
    };
    let cases = [
        (3, symmetric(3)),
        (8, symmetric(8)),
        (60, symmetric(60)),
        (150, symmetric(150)),
        (90, positive(90, 4)),
        (40, ones(40)),
        (12, graded(12)),
        (5, vec![1e-300; 25]),
        (5, vec![1e300; 25]),
    ];
    for (n, a) in cases {
        let (values, rows) = symmetric_eigen(&a, n).unwrap();
        assert!(values.is_sorted(), "ascending");
        let columns: Vec<f64> = (0..n * n).map(|k| rows[k % n * n + k / n]).collect();
        let identity: Vec<f64> = (0..n * n).map(|k| if k / n == k % n { 1.0 } else { 0.0 }).collect();
        near(&product(&rows, &columns, n), &identity, 1e-13, "U^T U");
        let scaled: Vec<f64> = rows.iter().enumerate().map(|(k, v)| v * values[k / n]).collect();
        near(&product(&columns, &scaled, n), &a, 1e-13 * (n as f64).sqrt(), &format!("U L U^T of {n}"));
        assert_eq!(symmetric_eigen(&a, n).unwrap().1, rows, "the same again");
    }
}

#[test]
fn inverse_square_root_undoes_its_square() {
    let k = [2.0, 0.5, 0.1, 0.5, 1.5, 0.2, 0.1, 0.2, 1.0];
    let r = inverse_square_root(&k, 3, 1e-10).unwrap();
    let identity = product(&product(&r, &k, 3), &r, 3);
    for i in 0..9 {
        assert!((identity[i] - if i % 4 == 0 { 1.0 } else { 0.0 }).abs() < 1e-13);
    }
}

#[test]
fn a_singular_kernel_keeps_its_finite_part() {
    let r = inverse_square_root(&[1.0, 1.0, 1.0, 1.0], 2, 1e-10).unwrap();
    for v in r {
        assert!((v - 0.5 / 2f64.sqrt()).abs() < 1e-12);
    }
}

/// The matrices of the Python file.
fn named(name: &str) -> (Vec<f64>, usize) {
    let words: Vec<&str> = name.split(' ').collect();
    let (n, alpha): (usize, f64) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    let entry = |i: usize, j: usize| {
        let (x, y) = (i as f64, j as f64);
        match words[0] {
            "kernel" => (-alpha / 2.0 * (x / (n - 1) as f64 - y / (n - 1) as f64).powi(2)).exp(),
            "spread" => x.min(y) + 1.0,
            "wave" => (1.0 + 3.0 * (x + y)).sin() / (1.0 + (x - y).abs()),
            other => panic!("no matrix {other}"),
        }
    };
    ((0..n * n).map(|k| entry(k / n, k % n)).collect(), n)
}

/// What is done with one matrix of the file: its name, entries, size, and numpy's result.
type Check<'a> = &'a dyn Fn(&str, &[f64], usize, Vec<f64>);

#[test]
fn numbers_are_those_of_numpy() {
    let file: Value = serde_json::from_str(include_str!("../../tests/figures/linalg_numpy.json")).unwrap();
    let each = |key: &str, check: Check| {
        let table = file[key].as_object().unwrap();
        assert!(table.len() >= 2, "{key}");
        for (name, want) in table {
            let (a, n) = named(name);
            check(&format!("{key} of {name}"), &a, n, serde_json::from_value(want.clone()).unwrap());
        }
    };
    each("eigenvalues", &|what, a, n, want| near(&symmetric_eigen(a, n).unwrap().0, &want, 1e-14, what));
    // condition numbers of these are below 1e4
    each("inverse_square_root", &|what, a, n, want| {
        near(&inverse_square_root(a, n, 1e-10).unwrap(), &want, 1e-12, what);
    });
    each("solve", &|what, a, n, want| {
        let b: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
        near(&cholesky_solve(a, &b).unwrap(), &want, 1e-12, what);
    });
}

#[test]
fn no_vector_instructions_change_a_bit() {
    let (rows, cols) = (300, 137);
    let x = matrix(rows, cols, 6);
    let b: Vec<f64> = (0..cols).map(|i| (i as f64).cos()).collect();
    let all = || {
        let mut c = vec![0.0; cols * cols];
        add_gram(&x, rows, cols, &mut c);
        let solved = cholesky_solve(&c, &b).unwrap();
        let root = inverse_square_root(&c, cols, 1e-10).unwrap();
        [c, solved, root].concat().iter().map(|v| v.to_bits()).collect::<Vec<_>>()
    };
    let best = all();
    for instructions in crate::vector::Instructions::all() {
        assert!(instructions.during(all) == best, "{}", instructions.name());
    }
}
