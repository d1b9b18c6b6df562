# Vector scaling, written by calib 0.1.0, fitted on 200 rows.

import math


def calibrate(row):
    """Calibrated probabilities of a row of class scores."""
    if not all(0 <= score <= 1 for score in row):
        raise ValueError(f"Scores must be within [0, 1], got {row}.")
    t = row[0] + row[1] + row[2]
    e1 = (
        0.8904460517976083 * math.log(2.220446049250313e-16 if row[0] / t < 2.220446049250313e-16
        else row[0] / t) - 0.24080836214190762
    )
    e2 = (
        1.545764247726189 * math.log(2.220446049250313e-16 if row[1] / t < 2.220446049250313e-16
        else row[1] / t) + 0.5366665741455175
    )
    e3 = (
        0.717421885922057 * math.log(2.220446049250313e-16 if row[2] / t < 2.220446049250313e-16
        else row[2] / t) - 0.295858211998947
    )
    q1 = math.exp(e1 - max(e1, e2, e3))
    q2 = math.exp(e2 - max(e1, e2, e3))
    q3 = math.exp(e3 - max(e1, e2, e3))
    t2 = q1 + q2 + q3
    return [q1 / t2, q2 / t2, q3 / t2]
# calib-file: {"calibrator":{"base_rate":[0.31,0.325,0.365],"classes":["ant","bee","cow"],"conversion":{"swap":false,"transform":"none"},"fitted_range":null,"form":{"intercepts":[-0.24080836214190762,0.5366665741455175,-0.295858211998947],"kind":"softmax","weights":[0.8904460517976083,1.545764247726189,0.717421885922057]},"method":"vector","monotone":false,"n_rows":200},"choices":{"columns":["ant","bee","cow"],"dialect":"duckdb","table":"scores"},"format":"calib calibrator","schema":1,"sha256":"8b9520db254e2096d33b6bafbb9ee264a2d8d74ba7ce56859d4fde8a76ccc287","version":"0.1.0"}
