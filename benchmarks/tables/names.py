"""Which data sets there are, and the coin that says which of them decide and which are reported.

A choice (of a rule, a grid, an order) may look at the sets of `DECIDE` as often as it likes. Those of
`REPORT` are run once a choice is made, and what comes out is stated. `SEEN` are the fourteen of [LL05]: the
defaults of the search were settled on other splits of these, before there was a coin.

Names stand for the rows, not for the table: sets that share rows have one name, so that none is on both
sides of the coin. Rows of [LL05] are on neither side (of KEEL's: australian, crx, german, heart,
cleveland-0_vs_4, housevotes, ionosphere, pima, ring, sonar, twonorm, wdbc, wisconsin). Of KEEL's two-class
tables that are drawn from a set of more classes, there is one for each such set: the one with the largest
share of the rarer class, if that is a tenth or more.
"""

from numpy.random import RandomState

SEED = 2005  # of the coin

SEEN = (
    *("twonorm", "twonorm-n", "threenorm", "threenorm-n", "ringnorm", "ringnorm-n"),
    *("australian", "breast", "german", "heart", "ionosphere", "pima", "sonar", "votes84"),
)

KEEL = (
    *("banana", "bands", "breast-ljubljana", "bupa", "chess", "contraceptive", "hayes-roth", "iris"),
    *("led7digit", "letter", "magic", "mammographic", "marketing", "monk-2", "movement_libras", "mushroom"),
    *("optdigits", "penbased", "phoneme", "saheart", "satimage", "segment", "spambase", "splice", "tae"),
    *("texture", "tic-tac-toe", "titanic", "vehicle", "vowel", "wine"),
    *("ecoli-0_vs_1", "glass1", "haberman", "new-thyroid1", "page-blocks0", "yeast1"),
)

# OpenML-CC18 by id, without images and without those that share rows with the names above
OPENML = {
    "balance-scale": 11, "mfeat-morphological": 18, "sick": 38, "electricity": 151, "eucalyptus": 188,
    "analcatdata_authorship": 458, "analcatdata_dmft": 469, "pc4": 1049, "pc3": 1050, "jm1": 1053,
    "kc2": 1063, "kc1": 1067, "pc1": 1068, "bank-marketing": 1461, "banknote-authentication": 1462,
    "blood-transfusion": 1464, "first-order-theorem-proving": 1475, "ilpd": 1480, "madelon": 1485,
    "nomao": 1486, "ozone-level-8hr": 1487, "qsar-biodeg": 1494, "wall-robot-navigation": 1497,
    "adult": 1590, "PhishingWebsites": 4534, "GesturePhaseSegmentation": 4538, "dresses-sales": 23381,
    "numerai28.6": 23517, "connect-4": 40668, "churn": 40701, "MiceProtein": 40966, "car": 40975,
    "steel-plates-fault": 40982, "wilt": 40983, "climate-model": 40994, "jungle_chess": 41027,
}  # fmt: skip


def toss(names: tuple[str, ...], seed: int = SEED) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two halves of some names, drawn at random, each in alphabetical order."""
    drawn = RandomState(seed).permutation(sorted(names)).tolist()
    half = len(drawn) // 2
    return tuple(sorted(drawn[:half])), tuple(sorted(drawn[half:]))


# What the coin said of KEEL's and of OpenML's names; a test asserts that nobody moved one.
DECIDE = (
    *("banana", "breast-ljubljana", "bupa", "contraceptive", "glass1", "iris", "letter", "magic"),
    *("marketing", "monk-2", "new-thyroid1", "optdigits", "saheart", "spambase", "tae", "texture"),
    *("titanic", "vehicle"),
    *("GesturePhaseSegmentation", "PhishingWebsites", "adult", "analcatdata_dmft", "bank-marketing"),
    *("banknote-authentication", "car", "climate-model", "connect-4", "eucalyptus", "jm1", "jungle_chess"),
    *("kc2", "mfeat-morphological", "ozone-level-8hr", "pc1", "pc3", "sick"),
)
REPORT = (
    *("bands", "chess", "ecoli-0_vs_1", "haberman", "hayes-roth", "led7digit", "mammographic"),
    *("movement_libras", "mushroom", "page-blocks0", "penbased", "phoneme", "satimage", "segment", "splice"),
    *("tic-tac-toe", "vowel", "wine", "yeast1"),
    *("MiceProtein", "analcatdata_authorship", "balance-scale", "blood-transfusion", "churn"),
    *("dresses-sales", "electricity", "first-order-theorem-proving", "ilpd", "kc1", "madelon", "nomao"),
    *("numerai28.6", "pc4", "qsar-biodeg", "steel-plates-fault", "wall-robot-navigation", "wilt"),
)
SIDES = {"seen": SEEN, "decide": DECIDE, "report": REPORT}
