# truth: healthy
# then: ends
# needs: npm
# about: npm waits for a script of package.json (npm-run-script)
. "${0%/*}/lib/tree.sh"
echo '{"name": "one", "version": "1.0.0", "scripts": {"build": "sleep \"$SECS\""}}' >package.json
export npm_config_cache=$D/cache npm_config_update_notifier=false HOME=$D
show sleep nanosleep npm run -s build
