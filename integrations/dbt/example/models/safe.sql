select * from (values ('30-39', 'f', 1), ('30-39', 'f', 2), ('40-49', null, 3), ('40-49', null, 4)) as t(age_band, sex, person)
