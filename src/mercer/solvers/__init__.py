"""How a problem is solved: functions of arrays that know no estimator and no kernel."""
