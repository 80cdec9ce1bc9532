/// A Markdown table whose columns are aligned in plain text.
struct MarkdownTable {
    let head: [String]
    private(set) var rows: [[String]] = []

    init(_ head: String...) { self.head = head }

    mutating func add(_ cells: [String]) { rows.append(cells) }

    var text: String {
        let all = [head] + rows
        let widths = head.indices.map { column in
            all.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        func line(_ cells: [String]) -> String {
            let padded = zip(cells, widths).enumerated().map { column, cell in
                let gap = String(repeating: " ", count: cell.1 - cell.0.count)
                return column == 0 ? cell.0 + gap : gap + cell.0
            }
            return "| " + padded.joined(separator: " | ") + " |"
        }
        let rule = widths.enumerated().map { column, width in
            column == 0 ? String(repeating: "-", count: width) : String(repeating: "-", count: max(width - 1, 1)) + ":"
        }
        return ([line(head), "| " + rule.joined(separator: " | ") + " |"] + rows.map(line)).joined(separator: "\n")
    }
}
