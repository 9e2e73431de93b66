// The binary that the package of this platform holds; REHANG_BINARY names another one.
"use strict";

const HAS = ["linux-x64", "linux-arm64"];

/** Its path. Throws an error that says what to do if there is none. */
exports.binary = () => {
  if (process.env.REHANG_BINARY) return process.env.REHANG_BINARY;
  const platform = `${process.platform}-${process.arch}`;
  const name = `@rehang/${platform}`;
  try {
    return require.resolve(`${name}/bin/rehang`);
  } catch {
    throw new Error(
      HAS.includes(platform)
        ? `the package ${name} is not installed: install rehang without --no-optional or --omit=optional`
        : `there is no rehang for ${platform}, only for ${HAS.join(" and ")}`,
    );
  }
};
