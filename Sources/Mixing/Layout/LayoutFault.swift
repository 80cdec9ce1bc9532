/// One fault in a layout file: its position, its description, and the remedy.
public struct LayoutFault: Hashable, Sendable, CustomStringConvertible {
    /// The path of the file as the user gave it.
    public var file: String
    /// From 1.
    public var line: Int
    /// From 1, in characters.
    public var column: Int
    public var what: String
    public var mend: String

    public init(file: String, line: Int, column: Int, what: String, mend: String) {
        self.file = file
        self.line = line
        self.column = column
        self.what = what
        self.mend = mend
    }

    /// `FILE:LINE:COLUMN: what; mend`, the format of compilers, so that editors can open the position.
    public var description: String { "\(file):\(line):\(column): \(what); \(mend)" }
}

/// All faults of one layout, in the order of the file; never empty.
public struct LayoutFaults: Error, Hashable, Sendable, CustomStringConvertible {
    public var faults: [LayoutFault]

    public init(_ faults: [LayoutFault]) {
        self.faults = faults
    }

    public var description: String { faults.map(\.description).joined(separator: "\n") }
}
