# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Completion of pipewatchctl for bash.

_pipewatchctl() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb= each
	local verbs='status top list show groups remedies check bench metrics'
	local options='--json --bus --limit --version --help --usage'

	# Bash may take --bus=system apart.
	[ "$word" = = ] && word=
	[ "$before" = = ] && before=${COMP_WORDS[COMP_CWORD - 2]}

	for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case " $verbs " in
		*" $each "*) verb=$each && break ;;
		esac
	done

	case $before in
	--bus | -b)
		mapfile -t COMPREPLY < <(compgen -W 'system session' -- "$word")
		return
		;;
	--limit | --count | --delay | --seconds | -l | -n | -d | -s)
		return
		;;
	esac

	case $verb in
	top) options+=' --groups --count --delay' ;;
	bench) options+=' --seconds' ;;
	esac
	case $word in
	-*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
	*)
		case $verb in
		'') mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$word") ;;
		show)
			mapfile -t COMPREPLY < <(cd /proc && compgen -G "${word}[0-9]*" -d |
				grep -x '[0-9]*')
			;;
		esac
		;;
	esac
}

complete -F _pipewatchctl pipewatchctl
