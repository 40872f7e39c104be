// Names that do not fit lose their middle, not their end, which says most.
function last_component(name) {
    var depth = 0, from = name.length;
    for (var at = name.length - 1; at >= 0; at--) {
        var mark = name[at];
        if (")}]>".indexOf(mark) >= 0) {
            depth++;
        } else if ("({[<".indexOf(mark) >= 0) {
            depth = Math.max(0, depth - 1);
        } else if (depth == 0 && (mark == ":" || mark == ".") && at + 1 < from) {
            from = name[at - 1] == ":" ? at - 1 : at;
            if (name[at + 1] != "{") return from;
        }
    }
    return 0;
}
function without_middle(name, columns) {
    var room = Math.max(columns - 1, 0), last = name.length - last_component(name);
    var end = last < room ? last : Math.floor(room / 2);
    var start = name.substring(0, room - end).replace(/[:.]+$/, "");
    return start + "\u2026" + name.substring(name.length - end);
}
var update_text_by_its_end = update_text_for_elements;
update_text_for_elements = function(elements) {
    update_text_by_its_end(elements);
    for (var i = 0; i < elements.length; i++) {
        var text = find_child(elements[i], "text");
        var name = find_child(elements[i], "title").textContent.replace(/\([^(]*\)$/, "").trim();
        if (text.textContent.endsWith("..") && !name.endsWith(".."))
            text.textContent = without_middle(name, text.textContent.length);
    }
};
