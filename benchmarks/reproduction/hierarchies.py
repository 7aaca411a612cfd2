"""Hierarchies of Adult's attributes, made for this report.

Li et al. 2007, Figure 2, has heights alone.

Its heights are read as numbers of levels, the values themselves the first: two values, as sex has,
cannot be grouped in two steps. Ages become intervals of 5, 10 and 20 years, then everything.
"""

AGE_WIDTHS = (5, 10, 20)

TREES: dict[str, object] = {
    "workclass": {
        "any work": {
            "public": ["Federal-gov", "State-gov", "Local-gov"],
            "private": ["Private", "Self-emp-inc", "Self-emp-not-inc"],
            "none paid": ["Without-pay", "Never-worked"],
        }
    },
    "education": {
        "any education": {
            "school": {
                "up to 8th grade": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
                "high school": ["9th", "10th", "11th", "12th", "HS-grad"],
            },
            "after school": {
                "below a degree": ["Some-college", "Assoc-voc", "Assoc-acdm"],
                "degree": ["Bachelors", "Masters", "Prof-school", "Doctorate"],
            },
        }
    },
    "native-country": {
        "any country": {
            "North": ["United-States", "Canada", "Outlying-US(Guam-USVI-etc)"],
            "Latin America": [
                "Columbia", "Cuba", "Dominican-Republic", "Ecuador", "El-Salvador", "Guatemala",
                "Haiti", "Honduras", "Jamaica", "Mexico", "Nicaragua", "Peru", "Puerto-Rico",
                "Trinadad&Tobago",
            ],
            "Europe": [
                "England", "France", "Germany", "Greece", "Holand-Netherlands", "Hungary",
                "Ireland", "Italy", "Poland", "Portugal", "Scotland", "Yugoslavia",
            ],
            "Asia": [
                "Cambodia", "China", "Hong", "India", "Iran", "Japan", "Laos", "Philippines",
                "South", "Taiwan", "Thailand", "Vietnam",
            ],
        }
    },
    "marital-status": {
        "any status": {
            "with a spouse": ["Married-civ-spouse", "Married-AF-spouse"],
            "without, once married": [
                "Divorced", "Separated", "Widowed", "Married-spouse-absent",
            ],
            "unmarried": ["Never-married"],
        }
    },
    "race": {
        "any race": {
            "larger": ["White", "Black"],
            "smaller": ["Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"],
        }
    },
    "sex": {"any sex": ["Female", "Male"]},
    # The three groups are those of the similarity attack, too.
    "occupation": {
        "any occupation": {
            "office": ["Adm-clerical", "Exec-managerial", "Prof-specialty", "Tech-support"],
            "service": [
                "Armed-Forces", "Other-service", "Priv-house-serv", "Protective-serv", "Sales",
            ],
            "manual": [
                "Craft-repair", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct",
                "Transport-moving",
            ],
        }
    },
}  # fmt: skip
