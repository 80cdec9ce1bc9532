/// A QR code as text: two modules in each character, one above the other.
enum TerminalPicture {
    /// Light modules around the code (ISO/IEC 18004 §9.1).
    private static let margin = 4
    /// Black on white, of the 256 fixed colours: those of the terminal's theme may be any.
    private static let colours = "\u{1B}[38;5;16;48;5;231m"

    /// The columns that the code takes.
    static func width(of code: QRCode) -> Int { code.size + 2 * margin }

    static func lines(_ code: QRCode) -> [String] {
        let range = -margin..<(code.size + margin)
        return stride(from: range.lowerBound, to: range.upperBound, by: 2).map { y in
            let blocks = range.map { x in
                switch (code[x, y], code[x, y + 1]) {
                case (false, false): " "
                case (true, false): "▀"
                case (false, true): "▄"
                case (true, true): "█"
                }
            }
            return colours + blocks.joined() + "\u{1B}[0m"
        }
    }
}
