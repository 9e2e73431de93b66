# truth: healthy
# then: ends
# needs: npm
# about: npm installs a folder whose install script takes its time and says nothing; its output is kept until it ends (npm-install, --foreground-scripts)
. "${0%/*}/lib/tree.sh"
mkdir addon
echo '{"name": "addon", "version": "1.0.0", "scripts": {"postinstall": "node -e \"setTimeout(() => {}, 1000 * process.env.SECS); require(\\\"fs\\\").writeFileSync(process.env.D + \\\"/builds\\\", \\\"\\\")\""}}' >addon/package.json
echo '{"name": "app", "version": "1.0.0", "dependencies": {"addon": "file:addon"}}' >package.json
export npm_config_cache=$D/cache npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false HOME=$D
npm install --offline --silent &
P=$!
await test -e builds
ready $P
wait $P
