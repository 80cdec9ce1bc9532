/// All attacks, in the order of the table.
enum AttackList {
    static let nothing = Attack("nothing", "Nothing: what an undisturbed run of the same length shows.") { $0.rest() }

    static let all: [Attack] =
        [nothing] + RTCPAttacks.all + SDPAttacks.all + PayloadAttacks.all + DecodeAttacks.all + SCTPAttacks.all
        + FloodAttacks.all + PathAttacks.all
        + HTTPAttacks.all + EndpointAttacks.all + RoomAttacks.all + ShareAttacks.all
}
