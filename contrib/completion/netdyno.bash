# Completion for bash; written by netdyno --gen bash, do not edit.
_netdyno() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words='' files=no
	COMPREPLY=()
	if [ "$cur" = = ]; then # --option=value is three words here
		cur=''
	elif [ "$prev" = = ] && [ "$COMP_CWORD" -gt 2 ]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W 'serve stream help --help --version' -- "$cur")
		return
	fi
	case ${COMP_WORDS[1]} in
	serve)
		case $prev in
		-p|--port) words='' ;;
		--listen) words='' ;;
		--also) words='' ;;
		--allow) words='' ;;
		--max-time) words='' ;;
		--max-flows) words='' ;;
		--max-tests) words='' ;;
		-T|--threads) words='' ;;
		--pin) words='' ;;
		-o|--output) words='text json xml csv' ;;
		-O|--output-file) files=yes ;;
		*) words='-p --port -4 --ipv4 -6 --ipv6 --listen --also --allow --once --max-time --max-flows --max-tests -T --threads --pin -o --output -O --output-file --json-lines -q --quiet -v --verbose --trace-control -h --help --version' ;;
		esac
		;;
	stream)
		case $prev in
		-t|--time) words='' ;;
		-n|--bytes) words='' ;;
		-P|--flows) words='' ;;
		-b|--bitrate) words='' ;;
		--rate) words='' ;;
		-l|--length) words='' ;;
		--shape) words='stream rr' ;;
		-r|--request) words='' ;;
		--warmup) words='' ;;
		--cooldown) words='' ;;
		--drain) words='' ;;
		-i|--interval) words='' ;;
		-p|--port) words='' ;;
		-B|--bind) words='' ;;
		--connect-timeout) words='' ;;
		--payload) words='random zero pattern' ;;
		--cc) words='' ;;
		--sndbuf) words='' ;;
		--rcvbuf) words='' ;;
		--mss) words='' ;;
		--dscp) words='cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef va le' ;;
		-T|--threads) words='' ;;
		--pin) words='' ;;
		--engine) words='auto blocking epoll uring null' ;;
		--depth) words='' ;;
		--tx) words='copy' ;;
		--rx) words='copy' ;;
		-o|--output) words='text json xml csv' ;;
		-O|--output-file) files=yes ;;
		*) words='-t --time -n --bytes -P --flows -u --udp -R --reverse --bidir -b --bitrate --rate -l --length --shape -r --request --warmup --cooldown --drain -i --interval -p --port -4 --ipv4 -6 --ipv6 -B --bind --connect-timeout --payload --verify --mptcp --cc --sndbuf --rcvbuf --nodelay --mss --dscp --fragment -T --threads --pin --engine --depth --tx --rx -o --output -O --output-file --json-lines -q --quiet -v --verbose --trace-control -h --help --version' ;;
		esac
		;;
	help) words='serve stream' ;;
	esac
	if [ $files = yes ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	fi
}
complete -F _netdyno netdyno
