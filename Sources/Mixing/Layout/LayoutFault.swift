/// One fault in a layout file: its position, its description, and the remedy.
package struct LayoutFault: Hashable, Sendable, CustomStringConvertible {
    /// The path of the file as the user gave it.
    package var file: String
    /// From 1.
    package var line: Int
    /// From 1, in characters.
    package var column: Int
    package var what: String
    package var mend: String

    package init(file: String, line: Int, column: Int, what: String, mend: String) {
        self.file = file
        self.line = line
        self.column = column
        self.what = what
        self.mend = mend
    }

    /// `FILE:LINE:COLUMN: what; mend`, the format of compilers, so that editors can open the position.
    package var description: String { "\(file):\(line):\(column): \(what); \(mend)" }
}

/// All faults of one layout, in the order of the file; never empty.
package struct LayoutFaults: Error, Hashable, Sendable, CustomStringConvertible {
    package var faults: [LayoutFault]

    package init(_ faults: [LayoutFault]) {
        self.faults = faults
    }

    package var description: String { faults.map(\.description).joined(separator: "\n") }
}
