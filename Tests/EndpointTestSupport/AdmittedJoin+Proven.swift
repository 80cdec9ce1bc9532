package import Conference

extension AdmittedJoin {
    /// With a role that is proven.
    package init(
        room: String, name: String, role: Role = .participant, layout: String? = nil,
        kind: JoinRequest.Kind = .participant,
        asParticipant: String? = nil
    ) {
        let request = JoinRequest(
            room: room, name: name, role: role, layout: layout, kind: kind, asParticipant: asParticipant)
        self.init(request, roleIsProven: true)
    }
}
