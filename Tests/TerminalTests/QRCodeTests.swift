import Basics
import Cryptography
import Testing

@testable import Terminal
@testable import WebServer

/// Codes that `qrcode` 8.2 of PyPI makes of the same text, with the same mask.
@Suite struct QRCodeTests {
    @Test func `the address of a server in a local network`() throws {
        let code = try #require(QRCode("https://192.168.1.23:8080/", mask: 5))
        let golden = """
            #######...#...#.#.#######
            #.....#.#..####.#.#.....#
            #.###.#.#.#....#..#.###.#
            #.###.#.#.##.##...#.###.#
            #.###.#..#.#..#...#.###.#
            #.....#..#.#.#....#.....#
            #######.#.#.#.#.#.#######
            ........#..##..##........
            #.....#.#....#...##..###.
            ###..#..##..#..###..####.
            ...####.#...##.#...#.#.##
            #.#.#....##.#.#..##..#..#
            #....####.###.#..##.....#
            ###.........####.#.....#.
            #.#..####.#..#.#..####.##
            #..#...###.#..##...#.##.#
            #.##..#....###.######.#..
            ........##.######...#....
            #######...#####.#.#.#...#
            #.....#..##.#...#...#....
            #.###.#..#...#.######.#..
            #.###.#..#.##..##.#....##
            #.###.#..##.#..#.....##.#
            #.....#...#.#..###.##...#
            #######.#.#...####...#..#
            """
        #expect(text(code) == golden)
    }

    @Test(arguments: [
        ("https://10.0.0.5/", 3, 25, "df52fbad5b90141ecc354934e04f3d0783ce15a42207370a1e39e30aa9f6c739"),
        ("https://192.168.1.23:8080/", 5, 25, "1a35fab3e249b9808a7f679519a8b2e2067dde4ce2a1d48e57d271fb30a9db5e"),
        (
            "https://meet.example:8443/r/kitchen?lang=de&name=Ada%20Lovelace&x=1", 0, 37,
            "2bfe3c7a7600a697252ae526ec3ccdfcb8e4e86334b9b7eb9b61f596ced0941a"
        ),
        (String(repeating: "u", count: 106), 7, 41, "5ec9bfecc2521e729d472e98b9bef37b265d220a60981dcfe08e46985ea4870d"),
    ])
    func `codes with one and with several blocks`(address: String, mask: Int, size: Int, digest: String) throws {
        let code = try #require(QRCode(address, mask: mask))
        #expect(code.size == size)
        #expect(Hexadecimal.encode(HashFunction.sha256.digest(Array(text(code).utf8))) == digest)
    }

    @Test func `the mask that readers see best is chosen`() throws {
        let address = "https://192.168.1.23:8080/"
        let all = (0..<8).compactMap { QRCode(address, mask: $0) }
        #expect(Set(all.map(text)).count == 8)
        #expect(try #require(QRCode(address)).penalty == all.map(\.penalty).min())
    }

    @Test func `what is too long has no code`() {
        #expect(QRCode(String(repeating: "u", count: 107)) == nil)
        #expect(QRCode(String(repeating: "ü", count: 54)) == nil)
        #expect(QRCode("")?.size == 21)
    }

    @Test func `a terminal shows two modules in each character, on white`() throws {
        let code = try #require(QRCode("https://192.168.1.23:8080/", mask: 5))
        let lines = TerminalPicture.lines(code)
        #expect(lines.count == 17 && TerminalPicture.width(of: code) == 33)
        #expect(lines.allSatisfy { $0.hasPrefix("\u{1B}[38;5;16;48;5;231m") && $0.hasSuffix("\u{1B}[0m") })
        let modules = lines.map { $0.dropFirst(19).dropLast(4) }
        #expect(modules.allSatisfy { $0.count == 33 })
        #expect(modules[0].allSatisfy { $0 == " " } && modules[16].suffix(4) == "    ")
        #expect(modules[2] == "    █▀▀▀▀▀█ ▄ ▀▄▄▄█ █ █▀▀▀▀▀█    ")
    }

    private func text(_ code: QRCode) -> String {
        (0..<code.size).map { y in String((0..<code.size).map { code[$0, y] ? "#" : "." }) }.joined(separator: "\n")
    }
}
