# Installs gw as a single file, without Node, from a release: the folder or URL of the files that `npm run binaries` made.
#
#   powershell -ExecutionPolicy Bypass -File install.ps1 RELEASE [DIRECTORY]
#
# DIRECTORY is the target folder (default %LOCALAPPDATA%\Programs\gw).
param(
  [Parameter(Mandatory = $true)][string]$Release,
  [string]$Directory = (Join-Path $env:LOCALAPPDATA 'Programs\gw')
)
$ErrorActionPreference = 'Stop'
# The progress bar makes downloads in Windows PowerShell ten times slower.
$ProgressPreference = 'SilentlyContinue'

$name = 'gw-windows-x64.exe'
$target = Join-Path $Directory 'gw.exe'
New-Item -ItemType Directory -Force -Path $Directory | Out-Null
$work = Join-Path $Directory ".gw-install.$PID"
New-Item -ItemType Directory -Path $work | Out-Null

function Get-ReleaseFile([string]$File) {
  $to = Join-Path $work $File
  if ($Release -match '://') {
    Invoke-WebRequest -UseBasicParsing -Uri "$($Release.TrimEnd('/'))/$File" -OutFile $to
  } else {
    Copy-Item -LiteralPath (Join-Path $Release $File) -Destination $to
  }
  return $to
}

try {
  $sums = Get-Content -LiteralPath (Get-ReleaseFile 'SHA256SUMS')
  $file = Get-ReleaseFile $name
  $line = $sums | Where-Object { $_ -match "^[0-9a-f]{64}  $([regex]::Escape($name))$" } | Select-Object -First 1
  if (-not $line) { throw "SHA256SUMS of $Release does not name $name; take the whole release" }
  $have = (Get-FileHash -Algorithm SHA256 -LiteralPath $file).Hash.ToLowerInvariant()
  if ($have -ne $line.Substring(0, 64)) {
    throw "$name is not the file that SHA256SUMS of $Release names; take it again, and if that does not help, do not run it"
  }
  # A running program can be renamed, but not replaced.
  $old = "$target.old"
  if (Test-Path -LiteralPath $old) { Remove-Item -Force -LiteralPath $old -ErrorAction SilentlyContinue }
  if (Test-Path -LiteralPath $target) { Move-Item -Force -LiteralPath $target -Destination $old }
  Move-Item -LiteralPath $file -Destination $target
  Write-Output $target
} finally {
  Remove-Item -Recurse -Force -LiteralPath $work
}

if (($env:PATH -split ';') -notcontains $Directory) {
  $add = "[Environment]::SetEnvironmentVariable('Path', [Environment]::GetEnvironmentVariable('Path', 'User') + ';$Directory', 'User')"
  [Console]::Error.WriteLine("note: $Directory is not in PATH; add it: $add")
}
