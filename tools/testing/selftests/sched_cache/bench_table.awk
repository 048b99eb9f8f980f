# SPDX-License-Identifier: GPL-2.0
#
# The results of sched_cache_bench, from lines of
#   case <tab> metric:unit:better <tab> column <tab> run <tab> value <tab> share
# as a table (format=table) or as JSON (format=json).

function mean(row, col,    i, s)
{
	for (i = 1; i <= count[row, col]; i++)
		s += value[row, col, i]
	return s / count[row, col]
}

# Coefficient of variation in percent
function cv(row, col,    i, m, s, n)
{
	n = count[row, col]
	m = mean(row, col)
	if (n < 2 || !m)
		return 0
	for (i = 1; i <= n; i++)
		s += (value[row, col, i] - m) ^ 2
	return 100 * sqrt(s / (n - 1)) / m
}

# How much better than "off", in percent
function improvement(row, col,    base)
{
	base = mean(row, "off")
	if (!base)
		return 0
	return 100 * (mean(row, col) - base) / base * (better[row] == "lower" ? -1 : 1)
}

function mean_share(row, col,    i, s, n)
{
	for (i = 1; i <= count[row, col]; i++)
		if (share[row, col, i] != "" && share[row, col, i] >= 0) {
			s += share[row, col, i]
			n++
		}
	return n ? s / n : -1
}

function abs(x)
{
	return x < 0 ? -x : x
}

# What the means of two columns may differ by without a reason, in percent: two
# standard errors, and no less than was seen between off and off.
function noise(row, col,    seen, errors)
{
	if ((row, "noise") in count)
		seen = abs(improvement(row, "noise"))
	errors = 2 * sqrt((cv(row, "off") ^ 2 + cv(row, col) ^ 2) / count[row, "off"])
	return seen > errors ? seen : errors
}

function inside_noise(row, col)
{
	return count[row, "off"] > 1 && abs(improvement(row, col)) <= noise(row, col)
}

# Four significant digits, no exponent
function number(x)
{
	if (abs(x) >= 1000)
		return sprintf("%.0f", x)
	if (abs(x) >= 100)
		return sprintf("%.1f", x)
	if (abs(x) >= 10)
		return sprintf("%.2f", x)
	return sprintf("%.4f", x)
}

function cell(row, col,    text)
{
	text = number(mean(row, col))
	if (col != "off")
		text = text sprintf(" [%s%+.1f%%]", inside_noise(row, col) ? "~" : "",
				    improvement(row, col))
	return text sprintf(" (%.1f%%)", cv(row, col))
}

function share_text(row, col,    s)
{
	s = mean_share(row, col)
	return s < 0 ? "-" : sprintf("%.1f%%", s)
}

function put(text, i)
{
	grid[lines, i] = text
	if (length(text) > width[i])
		width[i] = length(text)
	if (i > fields)
		fields = i
}

function print_grid(    l, i, line)
{
	for (l = 1; l <= lines; l++) {
		line = sprintf("%-*s", width[1], grid[l, 1])
		for (i = 2; i <= fields; i++)
			line = line sprintf("  %*s", width[i], grid[l, i])
		print line
	}
}

function table(    r, c, row, f)
{
	lines = 1
	put("case", f = 1)
	put("unit", ++f)
	for (c = 1; c <= ncols; c++)
		put(cols[c] == "off" ? "off (CV)" : cols[c] " [imp] (CV)", ++f)
	for (c = 1; c <= ncols; c++)
		put("share " cols[c], ++f)
	for (r = 1; r <= nrows; r++) {
		row = rows[r]
		lines++
		put(label[row], f = 1)
		put(unit[row], ++f)
		for (c = 1; c <= ncols; c++)
			put(cell(row, cols[c]), ++f)
		for (c = 1; c <= ncols; c++)
			put(share_text(row, cols[c]), ++f)
	}
	printf "%s, %d LLCs, %d CPUs, %d run%s of each\n", kernel, llcs, cpus, repeat,
		repeat == 1 ? "" : "s"
	print_grid()
	if (ncols > 1)
		print "~: within the noise"
}

function json_column(row, col,    i, text)
{
	text = sprintf("\"%s\": {\"mean\": %.10g, \"cv_pct\": %.3f", col, mean(row, col),
		       cv(row, col))
	if (col != "off")
		text = text sprintf(", \"imp_pct\": %.3f, \"noise_pct\": %.3f, \"inside_noise\": %s",
				    improvement(row, col), noise(row, col),
				    (inside_noise(row, col) ? "true" : "false"))
	if (mean_share(row, col) >= 0)
		text = text sprintf(", \"share_pct\": %.3f", mean_share(row, col))
	text = text ", \"values\": ["
	for (i = 1; i <= count[row, col]; i++)
		text = text (i > 1 ? ", " : "") sprintf("%.10g", value[row, col, i])
	text = text "], \"shares\": ["
	for (i = 1; i <= count[row, col]; i++)
		text = text (i > 1 ? ", " : "") \
			(share[row, col, i] == "" ? "null" : share[row, col, i])
	return text "]}"
}

function json(    r, c, row)
{
	printf "{\"kernel\": \"%s\", \"llcs\": %d, \"cpus\": %d, \"repeat\": %d, \"cases\": [",
		kernel, llcs, cpus, repeat
	for (r = 1; r <= nrows; r++) {
		row = rows[r]
		printf "%s\n{\"case\": \"%s\", \"metric\": \"%s\", \"unit\": \"%s\", \"better\": \"%s\"",
			(r > 1 ? "," : ""), name[row], metric[row], unit[row], better[row]
		printf ", \"columns\": {"
		for (c = 1; c <= ncols; c++)
			printf "%s%s", (c > 1 ? ", " : ""), json_column(row, cols[c])
		printf "}}"
	}
	print "\n]}"
}

BEGIN {
	ncols = split(columns, cols, " ")
}

{
	split($2, m, ":")
	row = $1 SUBSEP m[1]
	if (!(row in unit)) {
		rows[++nrows] = row
		name[row] = $1
		metric[row] = m[1]
		unit[row] = m[2]
		better[row] = m[3]
		metrics_of[$1]++
	}
	i = ++count[row, $3]
	value[row, $3, i] = $5
	share[row, $3, i] = $6
}

END {
	if (!nrows)
		exit 1
	for (r = 1; r <= nrows; r++) {
		row = rows[r]
		label[row] = name[row] (metrics_of[name[row]] > 1 ? " " metric[row] : "")
	}
	if (format == "json")
		json()
	else
		table()
}
