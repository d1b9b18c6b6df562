# Beta, written by calib 0.1.0, fitted on 200 rows, scores from 0.00274 to 0.997, base rate 0.48.

import math


def calibrate(score):
    """Calibrated probability of a score."""
    if not 0 <= score <= 1:
        raise ValueError(f"Scores must be within [0, 1], got {score}.")
    s = min(max(score, 2.220446049250313e-16), 0.9999999999999998)
    return (
        1 / (1 + math.exp(-(0.3884480659650114 * math.log(s) - 0.3078418657359111 * math.log(1 - s)
        - 0.09042134416887067)))
    )
# calib-file: {"calibrator":{"base_rate":[0.48],"classes":null,"conversion":{"swap":false,"transform":"none"},"fitted_range":[0.002738500170148095,0.997209935789211],"form":{"coefficients":[0.3884480659650114,0.3078418657359111],"features":["ln s","-ln(1 - s)"],"intercept":-0.09042134416887067,"kind":"sigmoid_of_features"},"method":"beta","monotone":true,"n_rows":200},"choices":{"columns":["score"],"dialect":"duckdb","table":"scores"},"format":"calib calibrator","schema":1,"sha256":"723bcebc0a0184931e9dc7f3748ccb01d61a731d2f4782ba894e148e4f71873e","version":"0.1.0"}
