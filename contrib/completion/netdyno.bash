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
		mapfile -t COMPREPLY < <(compgen -W 'serve stream packets connect latency watch irq doctor ntttcp netperf netserver sockperf help --help --version' -- "$cur")
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
		-o|--output) words='text json xml csv hdr' ;;
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
		--shape) words='stream timed rr' ;;
		-r|--request) words='' ;;
		--warmup) words='' ;;
		--cooldown) words='' ;;
		--drain) words='' ;;
		-i|--interval) words='' ;;
		--group) words='' ;;
		--expect) words='' ;;
		--group-wait) words='' ;;
		-p|--port) words='' ;;
		-B|--bind) words='' ;;
		--connect-timeout) words='' ;;
		--payload) words='random zero pattern' ;;
		--cc) words='' ;;
		--mss) words='' ;;
		--sndbuf) words='' ;;
		--rcvbuf) words='' ;;
		--dscp) words='cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef va le' ;;
		-T|--threads) words='' ;;
		--pin) words='' ;;
		--engine) words='auto blocking epoll uring null' ;;
		--depth) words='' ;;
		--tx) words='auto copy zerocopy sendfile splice sendto gso' ;;
		--rx) words='auto copy trunc splice mmap gro' ;;
		--gso) words='' ;;
		--gro) words='auto on off' ;;
		--wait) words='auto block nap spin' ;;
		--busy-poll) words='' ;;
		--lowat) words='' ;;
		-o|--output) words='text json xml csv hdr' ;;
		-O|--output-file) files=yes ;;
		*) words='-t --time -n --bytes -P --flows -u --udp -R --reverse --bidir -b --bitrate --rate -l --length --shape -r --request --warmup --cooldown --drain -i --interval --group --expect --group-wait -p --port -4 --ipv4 -6 --ipv6 -B --bind --connect-timeout --payload --verify --mptcp --cc --nodelay --mss --sndbuf --rcvbuf --dscp --fragment -T --threads --pin --engine --depth --tx --rx --gso --gro --wait --spin --busy-poll --max --lowat -o --output -O --output-file --json-lines -q --quiet -v --verbose --trace-control -h --help --version' ;;
		esac
		;;
	packets)
		case $prev in
		-t|--time) words='' ;;
		-n|--bytes) words='' ;;
		-P|--flows) words='' ;;
		-b|--bitrate) words='' ;;
		--rate) words='' ;;
		-l|--length) words='' ;;
		--trial) words='' ;;
		--warmup) words='' ;;
		--cooldown) words='' ;;
		--drain) words='' ;;
		-i|--interval) words='' ;;
		--group) words='' ;;
		--expect) words='' ;;
		--group-wait) words='' ;;
		-p|--port) words='' ;;
		-B|--bind) words='' ;;
		--connect-timeout) words='' ;;
		--payload) words='random zero pattern' ;;
		--sndbuf) words='' ;;
		--rcvbuf) words='' ;;
		--dscp) words='cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef va le' ;;
		-T|--threads) words='' ;;
		--pin) words='' ;;
		--engine) words='auto blocking epoll uring null' ;;
		--depth) words='' ;;
		--tx) words='auto copy zerocopy sendfile splice sendto gso' ;;
		--rx) words='auto copy trunc splice mmap gro' ;;
		--gso) words='' ;;
		--gro) words='auto on off' ;;
		--wait) words='auto block nap spin' ;;
		--busy-poll) words='' ;;
		-o|--output) words='text json xml csv hdr' ;;
		-O|--output-file) files=yes ;;
		*) words='-t --time -n --bytes -P --flows -R --reverse --bidir -b --bitrate --rate -l --length --spread --find-rate --trial --warmup --cooldown --drain -i --interval --group --expect --group-wait -p --port -4 --ipv4 -6 --ipv6 -B --bind --connect-timeout --payload --verify --sndbuf --rcvbuf --dscp --fragment -T --threads --pin --engine --depth --tx --rx --gso --gro --wait --spin --busy-poll -o --output -O --output-file --json-lines -q --quiet -v --verbose --trace-control -h --help --version' ;;
		esac
		;;
	connect)
		case $prev in
		-t|--time) words='' ;;
		-P|--flows) words='' ;;
		-r|--request) words='' ;;
		-n|--connections) words='' ;;
		--warmup) words='' ;;
		--cooldown) words='' ;;
		--drain) words='' ;;
		-i|--interval) words='' ;;
		-p|--port) words='' ;;
		-B|--bind) words='' ;;
		--connect-timeout) words='' ;;
		--cc) words='' ;;
		--mss) words='' ;;
		--sndbuf) words='' ;;
		--rcvbuf) words='' ;;
		--dscp) words='cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef va le' ;;
		-T|--threads) words='' ;;
		--pin) words='' ;;
		--engine) words='auto blocking epoll uring null' ;;
		--wait) words='auto block nap spin' ;;
		--busy-poll) words='' ;;
		-o|--output) words='text json xml csv hdr' ;;
		-O|--output-file) files=yes ;;
		*) words='-t --time -P --flows -r --request -n --connections --only --warmup --cooldown --drain -i --interval -p --port -4 --ipv4 -6 --ipv6 -B --bind --connect-timeout --mptcp --cc --nodelay --mss --sndbuf --rcvbuf --dscp -T --threads --pin --engine --wait --spin --busy-poll -o --output -O --output-file --json-lines -q --quiet -v --verbose --trace-control -h --help --version' ;;
		esac
		;;
	latency)
		case $prev in
		-t|--time) words='' ;;
		-P|--flows) words='' ;;
		-r|--request) words='' ;;
		-q|--outstanding) words='' ;;
		--rate) words='' ;;
		--arrival) words='fixed uniform poisson' ;;
		--timestamps) words='program kernel' ;;
		--load) words='' ;;
		--warmup) words='' ;;
		--cooldown) words='' ;;
		--drain) words='' ;;
		-i|--interval) words='' ;;
		-p|--port) words='' ;;
		-B|--bind) words='' ;;
		--connect-timeout) words='' ;;
		--cc) words='' ;;
		--mss) words='' ;;
		--sndbuf) words='' ;;
		--rcvbuf) words='' ;;
		--dscp) words='cs0 cs1 cs2 cs3 cs4 cs5 cs6 cs7 af11 af12 af13 af21 af22 af23 af31 af32 af33 af41 af42 af43 ef va le' ;;
		-T|--threads) words='' ;;
		--pin) words='' ;;
		--engine) words='auto blocking epoll uring null' ;;
		--wait) words='auto block nap spin' ;;
		--busy-poll) words='' ;;
		-o|--output) words='text json xml csv hdr' ;;
		-O|--output-file) files=yes ;;
		*) words='-t --time -P --flows -u --udp -r --request -q --outstanding --rate --arrival --timestamps --load --nagle --warmup --cooldown --drain -i --interval -p --port -4 --ipv4 -6 --ipv6 -B --bind --connect-timeout --mptcp --cc --nodelay --mss --sndbuf --rcvbuf --dscp --fragment -T --threads --pin --engine --wait --spin --busy-poll -o --output -O --output-file --json-lines --quiet -v --verbose --trace-control -h --help --version' ;;
		esac
		;;
	watch)
		case $prev in
		-i|--interval) words='' ;;
		-n|--samples) words='' ;;
		-o|--output) words='text csv json json-lines' ;;
		*) words='-i --interval -n --samples -o --output --sar -v --verbose -q --quiet --lines -h --help --version'" $(ls /sys/class/net)" ;;
		esac
		;;
	irq)
		case $prev in
		--cpus) words='' ;;
		--exclude) words='' ;;
		--stride) words='' ;;
		--state) files=yes ;;
		-o|--output) words='text json' ;;
		*) words='--cpus --exclude --stride --all-nodes --no-xps --apply --state -o --output -h --help --version show spread restore'" $(ls /sys/class/net)" ;;
		esac
		;;
	doctor)
		case $prev in
		-p|--port) words='' ;;
		--also) words='' ;;
		--iface) words=$(ls /sys/class/net) ;;
		-o|--output) words='text json' ;;
		*) words='-p --port --also -4 --ipv4 -6 --ipv6 --iface -o --output -v --verbose -h --help --version' ;;
		esac
		;;
	ntttcp)
		case $prev in
		--dialect) words='linux windows' ;;
		-m) words='' ;;
		-P) words='' ;;
		-n) words='' ;;
		-l) words='' ;;
		-p) words='' ;;
		-a) words='' ;;
		-t) words='' ;;
		-W) words='' ;;
		-C) words='' ;;
		-b) words='' ;;
		-B) words='' ;;
		--fq-rate-limit) words='' ;;
		--show-nic-packets) words=$(ls /sys/class/net) ;;
		--show-dev-interrupts) words='' ;;
		*) words='-r -s -D -M -L -e -H -N --dialect -m -P -n -l -p -f -a -6 -u --no-delay -t -W -C -b -B --fq-rate-limit -O -x -j -Q -V --show-tcp-retrans --show-nic-packets --show-dev-interrupts -h --help --version' ;;
		esac
		;;
	netperf)
		case $prev in
		-H) words='' ;;
		-p) words='' ;;
		-L) words='' ;;
		-Z) words='' ;;
		-t) words='' ;;
		-l) words='' ;;
		-s) words='' ;;
		-i) words='' ;;
		-I) words='' ;;
		-b) words='' ;;
		-w) words='' ;;
		--parallel) words='' ;;
		-T) words='' ;;
		-y) words='' ;;
		-Y) words='' ;;
		-F) words='' ;;
		-a) words='' ;;
		-A) words='' ;;
		-o) words='' ;;
		-O) words='' ;;
		-W) words='' ;;
		-n) words='' ;;
		-D) words='' ;;
		-f) words='' ;;
		-P) words='' ;;
		-v) words='' ;;
		-B) words='' ;;
		--format) words='text json xml csv hdr' ;;
		*) words='-H -p -L -4 -6 -N -Z -t -l -s -i -I -r -b -w --parallel --losses -T -c -C -y -Y -S -F -a -A -o -O -W -n -D -f -P -v -B -j -d -V --format -h --help --version' ;;
		esac
		;;
	netserver)
		case $prev in
		-p) words='' ;;
		-L) words='' ;;
		-Z) words='' ;;
		-v) words='' ;;
		-n) words='' ;;
		*) words='-p -L -4 -6 -Z -D -f -d -N -v -n -V -h --help --version' ;;
		esac
		;;
	sockperf)
		case $prev in
		-i|--ip) words='' ;;
		-p|--port) words='' ;;
		-f|--file) files=yes ;;
		-F|--iomux-type) words='' ;;
		--timeout) words='' ;;
		-a|--activity) words='' ;;
		-A|--Activity) words='' ;;
		--tos) words='' ;;
		--mc-rx-if) words='' ;;
		--mc-tx-if) words='' ;;
		--mc-ttl) words='' ;;
		--mc-source-filter) words='' ;;
		--lls) words='' ;;
		--buffer-size) words='' ;;
		--recv_looping_num) words='' ;;
		--pre-warmup-wait) words='' ;;
		--rate-limit) words='' ;;
		-m|--msg-size) words='' ;;
		--threads-num) words='' ;;
		--cpu-affinity) words='' ;;
		*) words='--tcp -i --ip -p --port -f --file -F --iomux-type --timeout -a --activity -A --Activity -d --debug --compat --tcp-avoid-nodelay --tcp-skip-blocking-send --tos --mc-rx-if --mc-tx-if --mc-loopback-enable --mc-ttl --mc-source-filter --uc-reuseaddr --lls --buffer-size --nonblocked --recv_looping_num --daemonize --dontwarmup --pre-warmup-wait --no-rdtsc --rate-limit --tls -m --msg-size --threads-num --cpu-affinity --force-unicast-reply --dont-reply -g --gap-detection -h --help --version' ;;
		esac
		;;
	help) words='serve stream packets connect latency watch irq doctor ntttcp netperf netserver sockperf' ;;
	esac
	if [ $files = yes ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	fi
}
complete -F _netdyno netdyno
_netdyno_link() { # by another tool's name
	COMP_WORDS=(netdyno "${COMP_WORDS[0]##*/}" "${COMP_WORDS[@]:1}")
	COMP_CWORD=$((COMP_CWORD + 1))
	_netdyno
}
complete -F _netdyno_link ntttcp netperf netserver sockperf
