/** For Windows PowerShell 5.1 and PowerShell 7. */
export const powershell = `# PowerShell completion for gw; made by gw completion

Register-ArgumentCompleter -Native -CommandName gw -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $program = $commandAst.GetCommandName()
    # Quotes in an argument, and an empty one, do not reach a program unharmed from every PowerShell.
    $words = @(
        $commandAst.CommandElements | Select-Object -Skip 1 |
            Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
            ForEach-Object {
                $text = if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
                $text = $text -replace '"', ''
                if ($text -eq '') { '-' } else { $text }
            }
    )
    $current = "$wordToComplete" -replace "[""']", ''
    $found = @(& $program complete "--at=$current" @words 2>$null)
    if ($found.Count -eq 0) { return }
    $kind, $before = $found[0] -split [char]9, 2
    # No result at all: PowerShell completes files by itself.
    if ($kind -ne 'value') { return }
    if ($found.Count -eq 1) { return '' }
    $found | Select-Object -Skip 1 | ForEach-Object {
        $value, $summary = $_ -split [char]9, 2
        if (-not $summary) { $summary = $value }
        [System.Management.Automation.CompletionResult]::new("$before$value", $value, 'ParameterValue', $summary)
    }
}
`;
