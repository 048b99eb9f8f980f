# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The chain of commits: pristine base, our files, one commit per hook patch.
# Sourced after lib.sh. Everything here works on the object store and a
# temporary index, never on the work tree; the last function moves the branch.
# shellcheck disable=SC2153,SC2154 # top, TREE and the like come from lib.sh

# The committer has no part in what a commit says: same input, same hash.
export GIT_COMMITTER_NAME=series GIT_COMMITTER_EMAIL=series@localhost
FILES_DATE='2026-01-01T00:00:00 +0000'

git_index() { GIT_INDEX_FILE=$TMP/index git -C "$TREE" "$@"; }

# Commit tree $1 on top of $2 ('' for none), with the author in GIT_AUTHOR_*.
# The message comes on stdin.
commit_tree() {
	git_tree stripspace |
		GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE git_tree commit-tree ${2:+-p "$2"} "$1"
}

base_subject() { echo "Linux $BASE as in Debian's linux-source-$BASE $(base_version)"; }

# Set GIT_AUTHOR_* and write $TMP/message and $TMP/diff from the mail in $TMP/mail.
read_mail() {
	local name=$1 info=$TMP/info
	git_tree mailinfo -b "$TMP/body" "$TMP/diff" <"$TMP/mail" >"$info" ||
		die "$name: not a mail that git mailinfo can read"
	GIT_AUTHOR_NAME=$(sed -n 's/^Author: //p' "$info")
	GIT_AUTHOR_EMAIL=$(sed -n 's/^Email: //p' "$info")
	GIT_AUTHOR_DATE=$(sed -n 's/^Date: //p' "$info")
	export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
	{
		sed -n 's/^Subject: //p' "$info"
		echo
		cat "$TMP/body"
	} >"$TMP/message"
	if [ -z "$GIT_AUTHOR_NAME" ] || [ -z "$GIT_AUTHOR_DATE" ] ||
	   ! grep -q '^Subject: .' "$info"; then
		die "$name: needs the header lines From:, Date: and Subject: of a mail"
	fi
}

# Set BASE_COMMIT to the commit of the pristine source, made unless it is there
# for this version, and list the paths it has in $TMP/base-paths. Tag base stays
# where it is until the whole chain stands.
import_base() {
	local dir=$BUILD/base/$BASE/linux subject
	subject=$(base_subject)
	BASE_COMMIT=$(ref refs/series/base)
	if [ -z "$BASE_COMMIT" ] || [ "$(git_tree log -1 --format=%s "$BASE_COMMIT" --)" != "$subject" ]; then
		say "recording the pristine source ($subject)"
		rm -f "$TREE"/.git/objects/pack/tmp_* "$TMP/index"
		# Above bigFileThreshold git streams into one pack, which is
		# several times faster than 80,000 loose objects.
		GIT_INDEX_FILE=$TMP/index git -C "$dir" --git-dir="$TREE/.git" --work-tree="$dir" \
			-c core.bigFileThreshold=1 -c core.compression=1 add -A -f .
		BASE_COMMIT=$(echo "$subject" |
			GIT_AUTHOR_NAME=series GIT_AUTHOR_EMAIL=series@localhost \
			GIT_AUTHOR_DATE=$FILES_DATE commit_tree "$(git_index write-tree)" '')
		git_tree update-ref refs/series/base "$BASE_COMMIT"
	fi
	list_base_paths
}

list_base_paths() { git_tree ls-tree -r --name-only "$BASE_COMMIT" | sort >"$TMP/base-paths"; }

# Of the paths on stdin, those which the pristine source has, or has not.
in_base() { sort | comm -12 - "$TMP/base-paths"; }
not_in_base() { sort | comm -23 - "$TMP/base-paths"; }

# Commit our files (lines "file MODE BLOB<TAB>PATH" of listing $1) on the base.
commit_files() {
	local listing=$1 clash maintainer msg
	sed -n 's/^file //p' "$listing" >"$TMP/files"
	clash=$(cut -f 2 "$TMP/files" | in_base)
	[ -z "$clash" ] || die "these files exist in the base source; edit them with a hook" \
		"patch instead of replacing them:"$'\n'"$clash"

	msg=$(sed -n 's/^patch [0-9]* \([0-9a-f]*\)\tfiles\.msg$/\1/p' "$listing")
	if [ -n "$msg" ]; then
		git_tree cat-file blob "$msg" >"$TMP/mail"
		read_mail files.msg
	else
		maintainer=$(sed -n 's/^M:[[:space:]]*//p' "$top/MAINTAINERS" 2>/dev/null | head -n 1)
		export GIT_AUTHOR_NAME="${maintainer%% <*}" GIT_AUTHOR_EMAIL="${maintainer##*<}"
		GIT_AUTHOR_NAME=${GIT_AUTHOR_NAME:-series}
		GIT_AUTHOR_EMAIL=${GIT_AUTHOR_EMAIL%>}
		export GIT_AUTHOR_DATE=$FILES_DATE
		cat >"$TMP/message" <<-END
		sched/cache: add the files of cache-aware load balancing

		The files that do not exist in the base kernel. Nothing builds them
		until the hooks that follow wire them in.
		END
	fi
	git_index read-tree "$BASE_COMMIT"
	git_index update-index --add --index-info <"$TMP/files"
	commit_tree "$(git_index write-tree)" "$BASE_COMMIT" <"$TMP/message"
}

# Why a patch failed, from git apply's complaints in $TMP/err.
explain_failure() {
	local name=$1 known
	known=$(cat "$PATCHES/base-version" 2>/dev/null || echo 'not recorded')
	say "patches/$BASE/$name does not apply to linux-source-$BASE $(base_version):"
	sed -e 's/^error: /    /' "$TMP/err" >&2
	say "the hooks are known to apply to $known (patches/$BASE/base-version)"
}

# Build the chain from listing $1 on $BASE_COMMIT and leave its tip in $TIP.
build_chain() {
	local listing=$1 blob name wrong
	rm -f "$TMP/index"
	TIP=$(commit_files "$listing")
	while IFS=$' \t' read -r _ _ blob name; do
		[ "$name" != files.msg ] || continue
		git_tree cat-file blob "$blob" >"$TMP/mail"
		read_mail "patches/$BASE/$name"
		[ -s "$TMP/diff" ] || die "patches/$BASE/$name holds no diff"
		wrong=$(git_tree apply --numstat "$TMP/diff" 2>/dev/null | cut -f 3 | not_in_base)
		[ -z "$wrong" ] || die "patches/$BASE/$name touches files that are not in the base" \
			"source; they belong into the repository as files:"$'\n'"$wrong"
		if ! git_index apply --cached --whitespace=nowarn "$TMP/diff" 2>"$TMP/err"; then
			explain_failure "$name"
			die "$TREE is left as it was"
		fi
		TIP=$(commit_tree "$(git_index write-tree)" "$TIP" <"$TMP/message")
	done < <(grep '^patch ' "$listing")
}

# git checkout with arguments $@; a full disk is a message, not 60,000 of them.
checkout() {
	if ! git_tree -c checkout.workers=0 checkout -q "$@" -- 2>"$TMP/err"; then
		head -n 3 "$TMP/err" >&2
		die "cannot write all files of $TREE (free there:" \
		    "$(df -h --output=avail "$TREE" | tail -n 1 | tr -d ' '));" \
		    "'make tree' goes on from here"
	fi
}

# Move branch and work tree to commit $1, made from listing $2. Only files that
# differ are written, so that their neighbours' objects stay valid. The caller
# has made sure that nothing of the user's is lost.
move_branch() {
	local new=$1 listing=$2
	git_tree update-ref refs/series/next "$new"
	checkout -B series "$new"
	git_tree update-ref refs/tags/base "$BASE_COMMIT"
	git_tree update-ref refs/series/tip "$new"
	cp "$listing" "$STATE/inputs.tmp"
	mv "$STATE/inputs.tmp" "$STATE/inputs"
	git_tree update-ref -d refs/series/next
}
