# Shoal with exactly the packages of locks/core.txt, as a user without rights. Build: docker build -t shoal .
# Measure a table in this folder, without any network:  docker run --rm --network none -v "$PWD:/data" shoal inspect people.csv
FROM python:3.13-slim AS build
WORKDIR /shoal
COPY locks/core.txt locks/core.txt
RUN python -m venv /opt/shoal && /opt/shoal/bin/pip install --no-cache-dir --require-hashes -r locks/core.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/shoal/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim
RUN useradd --create-home shoal
COPY --from=build /opt/shoal /opt/shoal
ENV PATH=/opt/shoal/bin:$PATH
USER shoal
WORKDIR /data
ENTRYPOINT ["shoal"]
CMD ["--help"]
