# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# An apt of our own, for packages that the machine's apt sources do not offer;
# sourced after lib.sh, never run. It uses the machine's Debian mirrors, and its
# proxies and the like, and touches neither its configuration nor its lists.

# URIs of the machine's own Debian archives, from both forms of apt sources;
# security archives have no backports.
debian_mirrors() {
	local etc f d=
	eval "$(apt-config shell d Dir::Etc/d)"
	etc=${d:-/etc/apt}
	for f in "$etc"/sources.list.d/*.sources; do
		[ -f "$f" ] || continue
		awk '
		function flush(   i, n, u) {
			n = split(uris, u, " ")
			for (i = 1; on && i <= n; i++)
				print u[i]
			uris = ""; on = 1
		}
		BEGIN { on = 1 }
		/^#/ { next }
		/^[ \t]*$/ { flush(); next }
		tolower($1) == "uris:" { uris = substr($0, index($0, ":") + 1) }
		tolower($1) == "suites:" && /-security/ { on = 0 }
		tolower($1) == "enabled:" && tolower($2) == "no" { on = 0 }
		END { flush() }' "$f"
	done
	for f in "$etc"/sources.list "$etc"/sources.list.d/*.list; do
		[ -f "$f" ] || continue
		sed -n -e '/-security/d' -e 's/^deb[[:space:]]*\(\[[^]]*\]\)\{0,1\}[[:space:]]*\([^[:space:]]*\).*/\2/p' "$f"
	done
}

# private_apt DIR "TYPE SUITE COMPONENT": make DIR/apt.conf, for apt-get -c, whose sources
# are that suite on each of the machine's Debian mirrors.
private_apt() {
	local apt=$1 type suite components keyring=/usr/share/keyrings/debian-archive-keyring.gpg uri
	read -r type suite components <<<"$2"
	[ -f "$keyring" ] || die "$keyring is missing: install debian-archive-keyring"
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/etc/parts" "$apt/deb"
	: >"$apt/status"
	debian_mirrors | sed -e '/debian-security/d' -e '/^cdrom:/d' | sort -u |
		while IFS= read -r uri; do
			echo "$type [signed-by=$keyring] $uri $suite $components"
		done >"$apt/sources.list"
	[ -s "$apt/sources.list" ] || die "no Debian mirror in the machine's apt sources"

	# Read after the machine's own configuration: proxies and the like stay
	# as they are; what names sources, lists, cache and state is ours.
	cat >"$apt/apt.conf" <<-END
	Dir::Etc::sourcelist "$apt/sources.list";
	Dir::Etc::sourceparts "$apt/etc/parts";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "$apt/etc/parts";
	Dir::State::lists "$apt/lists";
	Dir::State::status "$apt/status";
	Dir::Cache "$apt";
	Dir::Cache::archives "$apt/archives";
	Acquire::Languages "none";
	Acquire::Retries "2";
	#clear APT::Update::Post-Invoke;
	#clear APT::Update::Post-Invoke-Success;
	APT::Sandbox::User "$(id -un)";
	END
}
