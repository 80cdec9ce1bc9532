/// One thing wrong with a layout file: where, what, and how to mend it.
public struct LayoutFault: Hashable, Sendable, CustomStringConvertible {
    /// The file as the user named it.
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

    /// `FILE:LINE:COLUMN: what; mend`, as compilers print it, so that editors can jump there.
    public var description: String { "\(file):\(line):\(column): \(what); \(mend)" }
}

/// Everything that is wrong with one layout, in the order of the file. Never empty.
public struct LayoutFaults: Error, Hashable, Sendable, CustomStringConvertible {
    public var faults: [LayoutFault]

    public init(_ faults: [LayoutFault]) {
        self.faults = faults
    }

    public var description: String { faults.map(\.description).joined(separator: "\n") }
}
