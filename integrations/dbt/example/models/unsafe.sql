select * from (values ('30-39', 'f', 1), ('30-39', 'f', 2), ('40-49', 'm', 3)) as t(age_band, sex, person)
