-- Beta, written by calib 0.1.0, fitted on 200 rows, scores from 0.00274 to 0.997, base rate 0.48.
-- Other scores and NULL give NULL.
WITH calib_1 AS (SELECT *, CASE
  WHEN CAST(score AS DOUBLE) BETWEEN 0 AND 2.220446049250313e-16 THEN 2.220446049250313e-16
  WHEN CAST(score AS DOUBLE) BETWEEN 9.999999999999998e-1 AND 1 THEN 9.999999999999998e-1
  WHEN CAST(score AS DOUBLE) BETWEEN 0 AND 1 THEN CAST(score AS DOUBLE) END AS calib_s
FROM scores)
SELECT *, 1 / (1 + EXP(-(3.884480659650114e-1 * LN(calib_s) - 3.078418657359111e-1 * LN(1 - calib_s)
  - 9.042134416887067e-2))) AS calibrated
FROM calib_1;
-- calib-file: {"calibrator":{"base_rate":[0.48],"classes":null,"conversion":{"swap":false,"transform":"none"},"fitted_range":[0.002738500170148095,0.997209935789211],"form":{"coefficients":[0.3884480659650114,0.3078418657359111],"features":["ln s","-ln(1 - s)"],"intercept":-0.09042134416887067,"kind":"sigmoid_of_features"},"method":"beta","monotone":true,"n_rows":200},"choices":{"columns":["score"],"dialect":"duckdb","table":"scores"},"format":"calib calibrator","schema":1,"sha256":"723bcebc0a0184931e9dc7f3748ccb01d61a731d2f4782ba894e148e4f71873e","version":"0.1.0"}
