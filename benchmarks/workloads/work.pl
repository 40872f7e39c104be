# Builds hashes of arrays of hashes, sorts them, takes them apart with regular expressions, as often
# as the argument says.
use strict;
use warnings;

my $sum = 0;
for my $round (1 .. shift) {
    my %teams;
    for my $n (1 .. 20000) {
        push @{$teams{"team " . $n * 7919 % 997}}, {id => $n, name => "name $n", tags => ["a$n", "b", $n % 10]};
    }
    for my $team (sort keys %teams) {
        for my $one (sort { $b->{name} cmp $a->{name} } @{$teams{$team}}) {
            $sum += $1 if $one->{name} =~ /^name (\d+)$/;
            $sum += length join ",", @{$one->{tags}};
        }
    }
    my $text = join "\n", map { "$_=" . @{$teams{$_}} } sort keys %teams;
    $sum += $2 while $text =~ /(\w+) (\d+)=/g;
}
print "$sum\n";
