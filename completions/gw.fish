# fish completion for gw; made by gw completion

function __gw_completion
    set -l words (commandline -opc)
    while string match -qr '^\w+=' -- "$words[1]"
        set -e words[1]
    end
    set -l program (string replace -r '^~/' "$HOME/" -- "$words[1]")
    # A quote that is still open belongs to the line, not to the word.
    set -l current (string replace -r '^["\']' '' -- (commandline -ct))
    set -l found ($program complete "--at=$current" $words[2..-1] 2>/dev/null)
    set -l head (string split \t -- $found[1])
    set -l before $head[2]
    switch "$head[1]"
        case file
            set -l path (string sub --start (math (string length -- "$before") + 1) -- "$current")
            for file in (__fish_complete_path "$path")
                printf '%s%s\n' "$before" $file
            end
        case value
            for line in $found[2..-1]
                printf '%s%s\n' "$before" $line
            end
    end
end

complete -c gw -e
complete -c gw -f -k -a '(__gw_completion)'
